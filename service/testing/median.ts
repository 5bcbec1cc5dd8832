/**
 * Returns the median. If there are two middle values, returns the higher value. Returns 0 if there
 * are no values.
 */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Returns the quantile at `share` (0 to 1), or 0 if there are no values. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[
    Math.min(values.length - 1, Math.floor(values.length * share))
  ] ?? 0;
