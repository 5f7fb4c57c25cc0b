// Entry point of the dashboard.
import { render } from "preact";
import { address } from "./app/address";
import { App } from "./app/app";
import { findView } from "./app/views";
import { applyTheme } from "./state/theme";

applyTheme();
void findView(address.value.view)?.load().catch(() => undefined); // while it is found out who is signed in
const root = document.getElementById("app")!;
root.replaceChildren();
render(<App />, root);
