// The rules for the gas limits of executions, in addition to `gasMargin` of the library. The
// executor sets its limits by these rules. The check of a new intent uses the same rules to find
// executions for which the limit would be too low.

/** The gas of a plain transfer of native coin. No transaction uses less gas. */
export const transactionGasMin = 21_000;

/** The highest gas limit with which the executor simulates an execution. */
export const executionGasMax = 5_000_000;

/**
 * The ratio of the lowest sufficient gas limit to the gas that is used. The factory reverts if less
 * than a quarter of a call's gas is left after the call, and a call receives at most 63/64 of the
 * remaining gas.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * If the calls need a gas limit above this multiple of the estimate to do the same work as with a
 * high limit, they do less work with the estimate. The multiple is above {@link floorFactor},
 * because some nodes estimate the gas that is used, and not the lowest sufficient limit.
 */
const dependentFactor = 1.5;

/**
 * Returns whether the calls do more work if they get more gas. Such calls read the remaining gas,
 * or continue after an inner call runs out of gas.
 *
 * @param estimate the lowest gas limit with which the execution succeeds
 * @param gasUsed the gas that the execution uses with a high limit
 */
export const dependsOnGas = (estimate: number, gasUsed: number): boolean =>
  gasUsed * floorFactor > estimate * dependentFactor;
