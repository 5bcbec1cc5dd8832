// The lower and the higher of two bigints, which `Math.min` and `Math.max` reject.

export function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
