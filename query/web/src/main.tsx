// Entry point of the dashboard.
import { render } from "preact";
import { address } from "./app/address";
import { App } from "./app/app";
import { checkSignIn } from "./app/sign_in_check";
import { findView } from "./app/views";
import { Boundary } from "./components/boundary";
import { drawVisibleTexts } from "./components/visible_text";
import { applyTheme } from "./state/theme";

drawVisibleTexts();
applyTheme();
void findView(address.value.view)?.load().catch(() => undefined); // while it is found out who is signed in
const root = document.getElementById("app")!;
checkSignIn(root);
root.replaceChildren();
render(<Boundary><App /></Boundary>, root);
