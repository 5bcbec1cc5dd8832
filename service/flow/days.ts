// Days of UTC, counted from the epoch, by which sums and bounds are kept.

const daySeconds = 86_400;

/** The day of a time in Unix seconds. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / daySeconds);
}

/** When the day after that of `seconds` begins, in Unix seconds. */
export function midnightAfter(seconds: number): number {
  return (dayOf(seconds) + 1) * daySeconds;
}

/** Says a day as `2026-11-22`. */
export const dateOf = (day: number): string =>
  new Date(day * daySeconds * 1000).toISOString().slice(0, 10);
