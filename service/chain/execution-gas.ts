// The rules for the gas limit of an execution. The executor uses these rules, and a check warns of
// intents for which they are not sufficient.

/** The largest gas limit with which the executor simulates one execution. */
export const executionGasMax = 5_000_000;

/**
 * The gas limit of an execution as a multiple of its estimate. Some nodes answer eth_estimateGas
 * with the gas that a simulation with plenty of gas used, and the limit must be at least {@link
 * floorFactor} times that gas. The rest of the margin is for calls that take other branches when
 * they are mined.
 */
export const gasMargin = 1.375;

/**
 * The least gas limit as a multiple of the used gas. The factory reverts a call that leaves less
 * than a quarter of the call's gas, and a call receives at most 63/64 of the remaining gas.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * An honest estimate is at least the gas that a run with plenty of gas uses. If such a run needs
 * more than this factor times the estimate, a run with the estimated limit does not do all the
 * work.
 */
const dependentFactor = 1.5;

/**
 * Returns whether the work depends on the gas limit: with plenty of gas, the calls use much more
 * gas than with the lowest sufficient limit. Such calls read the remaining gas, or continue after
 * an inner call ran out of gas.
 *
 * @param estimate the least limit with which the execution succeeds
 * @param gasUsed the gas that an execution with plenty of gas uses
 */
export const dependsOnGas = (estimate: number, gasUsed: number): boolean =>
  gasUsed * floorFactor > estimate * dependentFactor;
