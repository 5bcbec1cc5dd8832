// The rules for the gas limit of an execution. The executor uses them, and a check warns of intents
// that they do not suit.

/** The largest gas limit with which the executor simulates one execution. */
export const executionGasMax = 5_000_000;

/**
 * The gas limit of an execution as a multiple of its estimate. Some nodes answer eth_estimateGas
 * with the gas that a simulation with plenty of gas used, and a limit must be at least
 * {@link floorFactor} times that. The rest is for calls that take other branches when mined.
 */
export const gasMargin = 1.375;

/**
 * The least gas limit as a multiple of the gas used. The factory reverts a call that leaves less
 * than a quarter of its gas, and a frame passes on 63/64 of its gas.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * An honest estimate is at least the gas that a run uses, and usually {@link floorFactor} times
 * that. If a run uses more than this, by the same factor, its limit was too low to do all its work.
 */
const dependentFactor = 1.5;

/**
 * Returns whether the work depends on the gas limit: with plenty of gas, the calls use much more
 * than with the least sufficient limit. Such calls tolerate that a part ran out of gas, or read the
 * remaining gas.
 *
 * @param estimate the least limit with which the execution succeeds
 * @param gasUsed by the execution with plenty of gas
 */
export const dependsOnGas = (estimate: number, gasUsed: number): boolean =>
  gasUsed * floorFactor > estimate * dependentFactor;
