// Rules for the gas limits of executions. The executor sets gas limits by these rules. The check of
// a new intent uses these rules to find executions with too little gas. The library contains one
// more rule: a gas estimate is multiplied by `gasMargin`.

/** The gas of a plain transfer of native coin. Every transaction uses at least this amount. */
export const transactionGasMin = 21_000;

/** The highest gas limit with which the executor simulates an execution. */
export const executionGasMax = 5_000_000;

/**
 * The maximum ratio of an execution's required gas limit to its used gas. The factory reverts if
 * less than a quarter of a call's gas is left afterwards. In addition, a call receives at most
 * 63/64 of the remaining gas.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * The estimate is the lowest gas limit with which the calls succeed. With this limit, the calls can
 * succeed although they skip a part of their work. If the complete work needs more than the
 * estimate times this factor, the check assumes that the calls skip work. The factor is above
 * {@link floorFactor}, because some nodes return the used gas as their estimate.
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
