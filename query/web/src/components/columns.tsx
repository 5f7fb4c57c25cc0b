// Cards in as many columns as the window has room for, each as high as its content.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

const TWO = matchMedia("(min-width: 720px)");
const THREE = matchMedia("(min-width: 1600px)");
const fitting = (): number => (THREE.matches ? 3 : TWO.matches ? 2 : 1);
const count = signal(fitting());
for (const query of [TWO, THREE]) query.addEventListener("change", () => (count.value = fitting()));

/** The children from left to right, then in the next row. */
export function Columns({ children }: { children: ComponentChildren[] }) {
  return (
    <div class="columns" style={{ gridTemplateColumns: `repeat(${count.value}, minmax(0, 1fr))` }}>
      {Array.from({ length: count.value }, (_, column) => (
        <div key={column}>{children.filter((_, i) => i % count.value === column)}</div>
      ))}
    </div>
  );
}
