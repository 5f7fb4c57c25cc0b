// The application, once its texts are in the language of the page.
import { render } from "preact";
import { App } from "./app/app";
import { loadView } from "./app/load_view";
import { checkSignIn } from "./app/sign_in_check";
import { Boundary } from "./components/boundary";
import { drawVisibleTexts } from "./components/visible_text";
import { address } from "./state/address";
import { applyTheme } from "./state/theme";
import { findView } from "./state/views";

drawVisibleTexts();
applyTheme();
const view = findView(address.value.view);
if (view) void loadView(view.id).catch(() => undefined); // while it is found out who is signed in
const root = document.getElementById("app")!;
checkSignIn(root);
root.replaceChildren();
render(<Boundary><App /></Boundary>, root);
