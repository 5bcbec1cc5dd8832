// The rules for the gas limits of transactions. The executor sets its limits by these rules. The
// check of an intent warns if the resulting limit would be too low.

/** The gas of a plain transfer, which is the minimum for every transaction. */
export const transactionGasMin = 21_000;

/** The largest gas limit with which the executor simulates one execution. */
export const executionGasMax = 5_000_000;

/**
 * The gas limit of an execution as a multiple of its estimate. Some nodes answer eth_estimateGas
 * with the gas that a run with a high limit used, so the limit must be at least {@link floorFactor}
 * times the estimate. The rest of the margin is for calls that take a different branch when they
 * are mined.
 */
export const gasMargin = 1.375;

/**
 * The lowest sufficient gas limit as a multiple of the used gas. The factory reverts the execution
 * if less than a quarter of a call's gas is left after the call, and a call receives at most 63/64
 * of the remaining gas.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * If an execution with a high limit needs more than this multiple of the estimate, then an
 * execution with the estimated limit does less work. The factor is above {@link floorFactor},
 * because an estimate can be as low as the gas that is used with a high limit.
 */
const dependentFactor = 1.5;

/**
 * Returns whether the work depends on the gas limit: with a high limit, the calls use much more gas
 * than with the lowest sufficient limit. Such calls read the remaining gas, or continue after an
 * inner call runs out of gas.
 *
 * @param estimate the lowest limit with which the execution succeeds
 * @param gasUsed the gas that the execution uses with a high limit
 */
export const dependsOnGas = (estimate: number, gasUsed: number): boolean =>
  gasUsed * floorFactor > estimate * dependentFactor;
