// Cards in as many columns as the window has room for, each as high as its content.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Height of a row of the grid, as in layout.css: a card lies over as many as it is high. */
const ROW = 4;

/** The children from left to right, then in the next row; which column each is in is decided by layout.css alone. */
export function Columns({ children }: { children: ComponentChildren[] }) {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const fit = (card: HTMLElement) => (card.style.gridRowEnd = `span ${Math.max(1, Math.ceil(card.offsetHeight / ROW))}`);
    const observer = new ResizeObserver((sizes) => sizes.forEach(({ target }) => fit(target as HTMLElement)));
    for (const card of frame.current!.children) {
      fit(card as HTMLElement);
      observer.observe(card);
    }
    return () => observer.disconnect();
  }, [children.length]);
  return <div ref={frame} class="columns">{children.map((card, i) => <div key={i}>{card}</div>)}</div>;
}
