// Cards in as many columns as the window has room for, each as high as its content.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Height of a row of the grid, as in layout.css: a card lies over as many as it is high. */
const ROW = 4;

/** The children from left to right, then in the next row; which column each is in is decided by layout.css alone. */
export function Columns({ children }: { children: ComponentChildren[] }) {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver((sizes) => {
      for (const { target, contentRect } of sizes) (target as HTMLElement).style.gridRowEnd = `span ${Math.max(1, Math.ceil(contentRect.height / ROW))}`;
    });
    for (const card of frame.current!.children) observer.observe(card);
    return () => observer.disconnect();
  }, [children.length]);
  return <div ref={frame} class="columns">{children.map((card, i) => <div key={i}>{card}</div>)}</div>;
}
