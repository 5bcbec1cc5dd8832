// Hours and days of UTC, counted from the epoch, for sums and limits; and times as text.

export const daySeconds = 86_400;
export const hourMs = 3_600_000;
export const dayMs = 1000 * daySeconds;

export const toIso = (ms: number): string => new Date(ms).toISOString();
export const toIsoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms));

/** Returns the day of a time in Unix seconds. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / daySeconds);
}

/** Returns when the day after that of `seconds` begins, in Unix seconds. */
export function midnightAfter(seconds: number): number {
  return (dayOf(seconds) + 1) * daySeconds;
}

/** Returns a day as text, such as `2026-11-22`. */
export const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);
