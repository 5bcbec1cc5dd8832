// The rules for the gas limit of an execution. The executor applies these rules. Checks warn about
// intents for which the resulting limit is too low.

/** The largest gas limit with which the executor simulates one execution. */
export const executionGasMax = 5_000_000;

/**
 * The gas limit of an execution as a multiple of its estimate. For eth_estimateGas, some nodes
 * return the gas that a simulation with plenty of gas used. The limit must be at least {@link
 * floorFactor} times that amount. The rest of the margin is for calls that take a different branch
 * when they are mined.
 */
export const gasMargin = 1.375;

/**
 * The lowest sufficient gas limit as a multiple of the used gas. The factory reverts a call that
 * leaves less than a quarter of the call's gas, and a call receives at most 63/64 of the remaining
 * gas.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * An honest estimate is at least the gas that a run with plenty of gas uses. If a run with plenty
 * of gas needs more than the estimate times this factor, a run with the estimated limit does not do
 * all the work.
 */
const dependentFactor = 1.5;

/**
 * Returns whether the work depends on the gas limit: with plenty of gas, the calls use much more
 * gas than with the lowest sufficient limit. Such calls read the remaining gas, or continue after
 * an inner call runs out of gas.
 *
 * @param estimate the least limit with which the execution succeeds
 * @param gasUsed the gas that an execution with plenty of gas uses
 */
export const dependsOnGas = (estimate: number, gasUsed: number): boolean =>
  gasUsed * floorFactor > estimate * dependentFactor;
