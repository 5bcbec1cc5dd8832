// How long to hold an address back after a failure.

const firstSeconds = 15;
const longestSeconds = 600;

/** Seconds after failure number `failures`: doubled each time, a random part of it left out. */
export function backoffSeconds(failures: number, random: () => number): number {
  const full = Math.min(firstSeconds * 2 ** Math.min(failures - 1, 10), longestSeconds);
  return Math.ceil(full * (0.75 + random() / 4));
}
