// A small series without axes, for cards and rows of tables.
import { useId } from "preact/hooks";

const [WIDTH, HEIGHT, EDGE] = [96, 28, 3];

/**
 * Buckets without a value are gaps. With `isRunning` the last bucket can still grow: it is a hollow point at the end of a dashed line.
 */
export function Sparkline({ values, label, isRunning = false, width = WIDTH, height = HEIGHT }: {
  values: (number | null)[];
  /** What a screen reader says instead, such as "Visitors: 3 to 40". */
  label: string;
  isRunning?: boolean;
  width?: number;
  height?: number;
}) {
  const fill = useId();
  const most = Math.max(1e-9, ...values.map((value) => value ?? 0));
  const x = (i: number) => round(EDGE + (i * (width - 2 * EDGE)) / Math.max(1, values.length - 1));
  const y = (value: number) => round(height - EDGE - (value * (height - 2 * EDGE)) / most);
  const over = isRunning ? values.slice(0, -1) : values;
  const lines = stretches(over);
  const [last, running] = isRunning ? values.slice(-2) : [];
  return (
    <svg class="sparkline" role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      <linearGradient id={fill} x1="0" y1="0" x2="0" y2="1"><stop offset="0" /><stop offset="1" /></linearGradient>
      {lines.map(([first, ...rest]) => {
        const [start, end] = [x(first![0]), x((rest.at(-1) ?? first!)[0])];
        const line = `M${[first!, ...rest].map(([i, value]) => `${x(i)} ${y(value)}`).join("L")}`;
        return rest.length
          ? <g key={start}><path d={`${line}L${end} ${height}L${start} ${height}Z`} fill={`url(#${fill})`} /><path d={line} class="line" /></g>
          : <circle key={start} cx={start} cy={y(first![1])} r="1.5" class="point" />;
      })}
      {typeof running === "number" && typeof last === "number" && <path d={`M${x(values.length - 2)} ${y(last)}L${x(values.length - 1)} ${y(running)}`} class="line to-running" />}
      {typeof running === "number" && <circle cx={x(values.length - 1)} cy={y(running)} r="2.25" class="running" />}
    </svg>
  );
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** Position and value of the buckets that follow each other without a gap. */
function stretches(values: (number | null)[]): [number, number][][] {
  const all: [number, number][][] = [];
  let last: [number, number][] | null = null;
  values.forEach((value, i) => {
    if (value === null) last = null;
    else if (last) last.push([i, value]);
    else all.push((last = [[i, value]]));
  });
  return all;
}
