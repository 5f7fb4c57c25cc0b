// A drawing that is zoomed by wheel, pinch, keys and buttons, and moved by dragging.
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface View {
  scale: number;
  x: number;
  y: number;
}

type Point = [x: number, y: number];

const WHOLE: View = { scale: 1, x: 0, y: 0 };
const MOST = 24;
const STEP = 1.6;
/** Pixels that a pointer moves before it drags. */
const SLACK = 4;

/** `width` and `height` are those of the drawing's own coordinates. */
export function usePanZoom(drawing: RefObject<SVGSVGElement | null>, width: number, height: number) {
  const [view, setView] = useState(WHOLE);
  const latest = useRef(view);
  latest.current = view;
  const pointers = useRef(new Map<number, Point>());
  const begun = useRef<Point>([0, 0]);
  const dragged = useRef(false);

  const within = ({ scale, x, y }: View): View => (
    { scale, x: Math.min(0, Math.max(width * (1 - scale), x)), y: Math.min(0, Math.max(height * (1 - scale), y)) });
  const change = (next: View) => {
    latest.current = within(next);
    setView(latest.current);
  };
  const zoom = (factor: number, [px, py]: Point = [width / 2, height / 2]) => {
    const { scale, x, y } = latest.current;
    const next = Math.min(MOST, Math.max(1, scale * factor));
    change({ scale: next, x: px - ((px - x) * next) / scale, y: py - ((py - y) * next) / scale });
  };
  const move = (dx: number, dy: number) => change({ ...latest.current, x: latest.current.x + dx, y: latest.current.y + dy });
  const pointOf = ({ clientX, clientY }: MouseEvent): Point => {
    const box = drawing.current!.getBoundingClientRect();
    return [((clientX - box.left) * width) / box.width, ((clientY - box.top) * height) / box.height];
  };

  useEffect(() => {
    const { current: svg } = drawing;
    // A page that is scrolled past the whole drawing goes on: the wheel alone zooms once it is zoomed or has the focus.
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && latest.current.scale === 1 && !svg!.contains(document.activeElement)) return;
      if (event.deltaY > 0 && latest.current.scale === 1) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? .01 : .002)), pointOf(event));
    };
    svg!.addEventListener("wheel", wheel, { passive: false });
    return () => svg!.removeEventListener("wheel", wheel);
  }, []);

  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      if (!pointers.current.size) dragged.current = false;
      pointers.current.set(event.pointerId, pointOf(event));
      begun.current = [event.clientX, event.clientY];
    },
    onPointerMove: (event: PointerEvent) => {
      const before = pointers.current.get(event.pointerId);
      if (!before) return;
      if (!dragged.current) {
        const far = Math.hypot(event.clientX - begun.current[0], event.clientY - begun.current[1]) > SLACK;
        if (!far && pointers.current.size < 2) return;
        dragged.current = true;
        drawing.current!.setPointerCapture(event.pointerId); // only now: a click belongs to what is under the pointer
      }
      const now = pointOf(event);
      pointers.current.set(event.pointerId, now);
      const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
      if (!other) return move(now[0] - before[0], now[1] - before[1]);
      const apart = ([x, y]: Point) => Math.hypot(x - other[0], y - other[1]);
      zoom(apart(now) / Math.max(1, apart(before)), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
    },
    onPointerUp: (event: PointerEvent) => void pointers.current.delete(event.pointerId),
    onPointerCancel: (event: PointerEvent) => void pointers.current.delete(event.pointerId),
    onKeyDown: (event: KeyboardEvent) => {
      const step = width / 12;
      const act = ({
        "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), Home: () => change(WHOLE),
        ArrowLeft: () => move(step, 0), ArrowRight: () => move(-step, 0), ArrowUp: () => move(0, step), ArrowDown: () => move(0, -step),
      } as Record<string, (() => void) | undefined>)[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || (event.key.startsWith("Arrow") && latest.current.scale === 1)) return;
      event.preventDefault();
      event.stopPropagation(); // arrows move the time range elsewhere
      act();
    },
  };
  return {
    view, handlers,
    zoomIn: () => zoom(STEP), zoomOut: () => zoom(1 / STEP), reset: () => change(WHOLE),
    /** Whether the last press moved the drawing, and was no click. */
    wasDragged: () => dragged.current,
    isLargest: view.scale >= MOST,
    /** Moves a point of the drawing into sight. */
    show: ([px, py]: Point) => {
      const { scale, x, y } = latest.current;
      const [left, top] = [px * scale + x, py * scale + y];
      if (left < 0 || left > width || top < 0 || top > height) change({ scale, x: width / 2 - px * scale, y: height / 2 - py * scale });
    },
  };
}
