// Returns the lower or the higher of two bigints, because `Math.min` and `Math.max` reject bigints.
// Also returns medians. If there are two middle values, the caller chooses the safer one.

export function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/**
 * Returns the median, or the lower of two middle values. Returns undefined if there are no values.
 */
export const lowerMedian = <N extends number | bigint>(values: readonly N[]): N | undefined =>
  ascending(values)[Math.floor((values.length - 1) / 2)];

/**
 * Returns the median, or the higher of two middle values. Returns undefined if there are no values.
 */
export const upperMedian = <N extends number | bigint>(values: readonly N[]): N | undefined =>
  ascending(values)[Math.floor(values.length / 2)];

const ascending = <N extends number | bigint>(values: readonly N[]) =>
  values.toSorted((a, b) => (a < b ? -1 : 1));
