/** Takes the upper of the two in the middle of an even number, and 0 of none. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
