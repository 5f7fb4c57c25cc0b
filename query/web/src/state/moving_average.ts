// The mean of each value over time and those before it, which is smoother than the values.

/** So many buckets have an average. */
export const AVERAGED = 7;

/**
 * The mean of as many values as there are buckets to average, at the last of them. Null at the first buckets, which have too few before them, where one of the
 * values is missing, and from the running bucket on (negative: none), which can still grow.
 */
export function movingAverage(values: (number | null)[], buckets: number, running: number): (number | null)[] {
  return values.map((_, at) => {
    const last = values.slice(Math.max(0, at + 1 - buckets), at + 1);
    const present = last.filter((value) => value !== null);
    const isOver = running < 0 || at < running;
    return isOver && present.length === buckets ? present.reduce((sum, value) => sum + value, 0) / buckets : null;
  });
}
