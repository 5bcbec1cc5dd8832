// Rules for the gas limits of executions and recoveries. The executor sets gas limits by these
// rules. The check of a new intent uses these rules to find executions with too little gas. The
// simulated return of a reported token (sent.ts) also uses these gas limits. The library contains
// one more rule: a gas estimate is multiplied by `gasMargin`.

import type { Hex } from "executable-address";
import { size } from "viem/utils";

/** The gas of a plain transfer of native coin. Every transaction uses at least this amount. */
export const transactionGasMin = 21_000;

/** The highest gas limit with which the executor simulates an execution. */
export const executionGasMax = 5_000_000;

/**
 * An execution needs a gas limit of at most this many times the gas that it uses. The factory
 * reverts if a call leaves less than a quarter of its gas. In addition, a call receives at most
 * 63/64 of the remaining gas.
 */
export const floorFactor = (4 / 3) * (64 / 63);

/**
 * A gas estimate is the lowest gas limit with which the calls succeed. With this limit, the calls
 * can succeed although they skip a part of their work. If the complete work needs more gas than the
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

/**
 * The gas that a recovery needs in addition to its transfers and its calldata. A recovery needs
 * `closeGas` once, and `perTokenGas` for each transfer. Both values are generous. Without EIP-8037,
 * `closeGas` plus `perTokenGas` exceeds the gas of a whole recovery with one transfer. See "refund,
 * expired" in contracts/snapshots/gas.json.
 */
const closeGas = 120_000;
const perTokenGas = 40_000;
/**
 * The gas for a zero byte of calldata (EIP-7623). A transaction pays `floor` if it uses little
 * other gas, and otherwise `usual`. Nonzero bytes cost four times as much.
 */
export const calldataGas = { usual: 4, floor: 10 };
export const nonzeroFactor = 4;

/**
 * Returns the gas that a recovery needs. A node's estimate for the whole recovery would be too low,
 * because a recovery succeeds even if its transfers run out of gas. All transfers get equal shares
 * of the gas, so each share must suffice for the most expensive one.
 *
 * @param transfers with the estimated gas of each, lowest first
 */
export function computeRecoveryGas(terms: Hex, transfers: readonly { gas: number }[]): number {
  const calldata = size(terms) * nonzeroFactor * calldataGas.floor;
  const dearest = transfers.at(-1)!.gas;
  return Math.ceil(closeGas + calldata + transfers.length * (perTokenGas + dearest));
}

/**
 * The gas for one transfer of a reported token. Tokens behind a proxy need up to 100,000 gas, and
 * lending tokens up to 200,000.
 */
export const transferGasMax = 250_000;

/** Returns the gas limit for returning a reported token. */
export const computeReturnGas = (terms: Hex): number =>
  computeRecoveryGas(terms, [{ gas: transferGasMax }]);
