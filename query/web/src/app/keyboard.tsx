// Keyboard shortcuts, and the list of them.
import { signal } from "@preact/signals";
import { refresh } from "../api/use";
import { Dialog } from "../components/dialog";
import { choosePeriod, shift } from "../components/period_bar";
import { go, viewAddress } from "../state/address";
import { PRESET_KEYS, PRESETS } from "../state/period";
import { texts } from "../texts";
import { keyOf, shownViews, viewOfKey } from "./navigation";

export const helpOpen = signal(false);
const t = texts.keyboard;

interface Shortcut {
  keys: string;
  text: string;
  run: () => void;
}

/** The search of the view, or a new filter. */
function search(): void {
  const field = document.querySelector<HTMLElement>("main input[type=search]");
  if (field) field.focus();
  else document.getElementById("add-filter")?.click();
}

const SHORTCUTS: Shortcut[] = [
  { keys: "/", text: t.search, run: search },
  { keys: "?", text: t.help, run: () => (helpOpen.value = true) },
  { keys: "ArrowLeft", text: t.earlier, run: () => shift(-1) },
  { keys: "ArrowRight", text: t.later, run: () => shift(1) },
  { keys: "r", text: t.refresh, run: refresh },
  ...PRESETS.filter((each) => PRESET_KEYS[each])
    .map((each) => ({ keys: PRESET_KEYS[each]!, text: texts.period.presets[each]!, run: () => choosePeriod(each) })),
];
const SIGNS: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→" };
const TYPED = "input, select, textarea, dialog, [popover]:popover-open, .table-frame, pre";

/** Rows of controls, in which arrows are expected to move. */
const MOVED = ".tabs, nav";

/** Listens until the returned function is called. */
export function listenToKeys(): () => void {
  const listen = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.target as Element).closest(event.key.startsWith("Arrow") ? `${TYPED}, ${MOVED}` : TYPED)) return;
    const view = viewOfKey(event.key);
    const shortcut = SHORTCUTS.find(({ keys }) => keys === event.key);
    if (!view && !shortcut) return;
    event.preventDefault();
    if (view) go(viewAddress(view.id));
    else shortcut!.run();
  };
  document.addEventListener("keydown", listen);
  return () => document.removeEventListener("keydown", listen);
}

export function Help() {
  if (!helpOpen.value) return null;
  const close = () => (helpOpen.value = false);
  return (
    <Dialog title={texts.app.keys} close={close}>
      <dl class="keys">
        {SHORTCUTS.map(({ keys, text }) => [<dt><kbd>{SIGNS[keys] ?? keys}</kbd></dt>, <dd>{text}</dd>])}
        {shownViews().map(({ id, label }) => [<dt key={id}><kbd>{keyOf(id)}</kbd></dt>, <dd>{label}</dd>])}
        <dt><kbd>Esc</kbd></dt><dd>{t.close}</dd>
      </dl>
    </Dialog>
  );
}
