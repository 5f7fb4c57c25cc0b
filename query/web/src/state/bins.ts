// Ranges of equal width that cover numbers, with bounds that are easy to read.
export interface Bin {
  from: number;
  /** The first number that is no longer in it. */
  to: number;
}

const MOST_BINS = 12;

/** 1, 2 or 5 times a power of ten, the smallest that needs at most `MOST_BINS` bins. */
function widthFor(range: number): number {
  const power = 10 ** Math.floor(Math.log10(range / MOST_BINS));
  return [1, 2, 5, 10, 20].map((each) => each * power).find((each) => range / each < MOST_BINS - 1)!;
}

export function binsOf(min: number, max: number): Bin[] {
  const width = max > min ? widthFor(max - min) : 1;
  const first = Math.floor(min / width);
  const count = Math.floor(max / width) - first + 1;
  const bound = (at: number) => Number(((first + at) * width).toPrecision(12));
  return Array.from({ length: count }, (_, at) => ({ from: bound(at), to: bound(at + 1) }));
}
