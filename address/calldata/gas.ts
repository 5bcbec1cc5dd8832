/**
 * The factor by which to multiply a node's gas estimate for a transaction to the factory. The
 * factory reverts if less than a quarter of a call's gas is left after the call, and a call
 * receives at most 63/64 of the remaining gas. Some nodes return the gas that was used in a run
 * with a high limit, so the factor must be at least 4/3 · 64/63 = 1.354. The factor is slightly
 * higher, because some calls use more gas in the block than in the estimate.
 */
export const gasMargin = 1.375;
