// How much gas an execution gets. The executor sends by these rules, and a check warns of an intent
// that they do not suit.

/** The largest gas limit with which the executor simulates one execution. */
export const executionGasMax = 5_000_000;

/**
 * The limit of an execution, as a multiple of its estimate: three eighths more. Some nodes answer
 * eth_estimateGas with the gas that a simulation with plenty of gas used; a limit must be at least
 * {@link floorFactor} times that. The rest is for calls that reach other branches once mined.
 */
export const gasMargin = 1.375;

/**
 * The least limit, as a multiple of the gas used: the factory undoes a call that leaves less than
 * a quarter of its gas, and a frame passes on 63/64 of it.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * An honest estimate is at least as much as a run uses, and mostly {@link floorFactor} times that.
 * A run that uses more than this, by the same factor, found its limit too low to do all its work.
 */
const dependentFactor = 1.5;

/**
 * Returns whether the work depends on the gas limit: with plenty of gas the calls use much more
 * than at the least limit at which they succeed. Then they tolerate that a part of them ran out of
 * gas, or read how much gas there is.
 *
 * @param estimate the least limit at which the execution succeeds
 * @param gasUsed by the execution with plenty of gas
 */
export const dependsOnGas = (estimate: number, gasUsed: number): boolean =>
  gasUsed * floorFactor > estimate * dependentFactor;
