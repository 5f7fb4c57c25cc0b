// Entry point of the dashboard.
import { render } from "preact";
import { App } from "./app/app";
import { applyTheme } from "./state/theme";

applyTheme();
const root = document.getElementById("app")!;
root.replaceChildren();
render(<App />, root);
