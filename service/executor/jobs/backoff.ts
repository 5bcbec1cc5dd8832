// How long to hold an address back after a failure.

const firstSeconds = 15;
/** What fails for hours is looked at a few times a day: each look costs a simulation. */
const longestSeconds = 21_600;

/** Seconds after failure number `failures`: doubled each time, a random part of it left out. */
export function backoffSeconds(failures: number, random: () => number): number {
  const full = Math.min(firstSeconds * 2 ** Math.min(failures - 1, 20), longestSeconds);
  return Math.ceil(full * (0.75 + random() / 4));
}
