// Finds executions that succeed now, but would fail under other conditions. Tested conditions are
// the expiration time, another sender, and less gas. Also finds:
// - calls that skip work if they get less gas
// - calls that need more gas than the executor allows
// - addresses that expire before a payment can become final

import { encodeExecution, type Hex, toHex } from "executable-address";
import type { Finding, Simulation } from "executable-address/client";
import { type BlockReference, type StatusSubject, toQuantity } from "executable-address/status";
import { isHex } from "viem/utils";
import { blockSecondsMax } from "../chains.ts";
import { dependsOnGas, executionGasMax, floorFactor } from "../gas-limits.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { askAt, type StateOverrides } from "../rpc/chain-rpc.ts";
import { blockCall, blockOf, CallRefused, quantity, revertOf } from "../rpc/json-rpc.ts";
import { classifyError } from "../rpc/node-errors.ts";
import { callGas } from "../simulation/meter.ts";
import { explainFailure } from "../simulation/revert.ts";
import type { SimulatedChain } from "../simulation/simulation.ts";

/** The senders of simulated executions. Nobody knows the private keys of these accounts. */
const executors: readonly [Hex, Hex] = [`0x${"a1".repeat(20)}`, `0x${"b2".repeat(20)}`];
/** Returns a gas limit of twice the gas that the simulation used, plus 100,000 gas. */
const tightGas = ({ gasUsed }: Simulation) => (gasUsed === null ? callGas : 2 * gasUsed + 100_000);

/** @param simulation a simulation that succeeded at `block` */
export async function findLater(
  chain: SimulatedChain,
  { block, ...simulation }: Simulation,
  subject: StatusSubject,
  assumed: StateOverrides,
): Promise<Finding[]> {
  const { expirationTimestamp } = subject.intent;
  const run = (how: How) => readFailure(chain, block, subject, assumed, how);
  const [first, second] = executors;
  const [atExpiry, ...byOthers] = await Promise.all([
    run({ from: first, gas: callGas, time: expirationTimestamp }),
    run({ from: first, gas: callGas }),
    run({ from: second, gas: tightGas({ block, ...simulation }) }),
  ]);
  const other = byOthers.find((reason) => reason !== undefined);
  if (other !== undefined) {
    const message = `the calls fail with a different sender or gas limit: ${other}`;
    const cure =
      "call a contract that does not depend on the sender of the transaction or the remaining gas";
    return [{ path: ["calls"], code: "depends_on_executor", message, cure }];
  }
  if (atExpiry === undefined) return [];
  const message = `the calls succeed now, but fail at the expiration time: ${atExpiry}`;
  const cure = "choose an earlier expiration time, at which the calls still succeed";
  return [{ path: ["expirationTimestamp"], code: "fails_at_expiry", message, cure }];
}

/**
 * How to simulate the execution. `time` (Unix seconds) replaces the block's timestamp if the node
 * supports block overrides.
 */
type How = { readonly from: Hex; readonly gas: number; readonly time?: number };

/**
 * Returns the revert reason. Returns undefined if the execution succeeds or the node gives no
 * reason.
 */
async function readFailure(
  { rpc, factory }: SimulatedChain,
  block: BlockReference,
  { intent }: StatusSubject,
  assumed: StateOverrides,
  { from, gas, time }: How,
): Promise<string | undefined> {
  const call = { from, to: factory, data: toHex(encodeExecution(intent)), gas: toQuantity(gas) };
  const changed = time === undefined ? [] : [{ time: toQuantity(time) }];
  try {
    const ask = (at: unknown) => ({ method: "eth_call", params: [call, at, assumed, ...changed] });
    await askAt(rpc, block, ask);
    return undefined;
  } catch (error) {
    const revert = revertOf(error);
    return isHex(revert?.data) ? explainFailure(revert.data).reason : revert?.message;
  }
}

/**
 * A check reports an intent that needs more than this share of `executionGasMax`. The margin is for
 * changes of the chain's state, which can increase the required gas.
 */
const ceilingShare = 0.95;

/**
 * Finds calls that need too much gas, and calls whose work depends on the gas limit. Estimates the
 * gas in the same way as the executor.
 */
export async function findGas(
  chain: SimulatedChain,
  simulation: Simulation,
  subject: StatusSubject,
  assumed: StateOverrides,
): Promise<Finding[]> {
  const { gasUsed, block } = simulation;
  const [from] = executors;
  const ceiling = Math.floor(executionGasMax * ceilingShare);
  const estimate = await estimateAt(chain, block, subject, assumed, { from, gas: ceiling });
  const isBeyond =
    estimate === undefined ? (gasUsed ?? 0) * floorFactor > ceiling : estimate === "fails";
  if (isBeyond) {
    const used = gasUsed === null ? "" : `the execution uses ${gasUsed} gas; `;
    const message =
      `${used}the execution could exceed the gas limit of this service's executor, which is ` +
      `${executionGasMax}; one call can use at most three quarters of this limit`;
    const cure = "split the calls among several addresses, or execute the address yourself";
    return [{ path: ["calls"], code: "gas_beyond_ceiling", message, cure }];
  }
  if (typeof estimate !== "number" || gasUsed === null) return [];
  if (!dependsOnGas(estimate, gasUsed)) return [];
  const message =
    `with a gas limit of ${callGas}, the calls use ${gasUsed} gas, but they also succeed with a ` +
    `gas limit of ${estimate} and then do less work`;
  const cure =
    "add requireGas as the first call, or call a contract that reverts if the gas is too low";
  return [{ path: ["calls"], code: "work_depends_on_gas", message, cure }];
}

/**
 * Returns the lowest gas limit, up to `gas`, with which the execution succeeds. The node estimates
 * it. Returns undefined if the node gives no estimate.
 */
async function estimateAt(
  { rpc, factory }: SimulatedChain,
  block: BlockReference,
  { intent }: StatusSubject,
  assumed: StateOverrides,
  { from, gas }: { from: Hex; gas: number },
): Promise<number | "fails" | undefined> {
  const call = { from, to: factory, data: toHex(encodeExecution(intent)), gas: toQuantity(gas) };
  try {
    const ask = (at: unknown) => ({ method: "eth_estimateGas", params: [call, at, assumed] });
    return Number(quantity(await askAt(rpc, block, ask)));
  } catch (error) {
    if (revertOf(error)) return "fails";
    const isOverGas =
      error instanceof CallRefused && classifyError("eth_estimateGas", error) === "over_call_gas";
    return isOverGas ? "fails" : undefined;
  }
}

/**
 * - `paymentConfirmations`: the number of blocks that must follow a payment's block before the
 *   executor acts on the payment
 * - `confirmations`: the number of blocks that must follow an execution's block before the
 *   execution is final
 */
export type Depths = { paymentConfirmations: number; confirmations: number };

/** The block time is the average over this number of blocks. */
const blocksMeasured = 100;

export async function findNearExpiry(
  rpc: ChainRpc,
  block: BlockReference,
  { intent }: StatusSubject,
  { paymentConfirmations, confirmations }: Depths,
): Promise<Finding[]> {
  const leftSeconds = intent.expirationTimestamp - block.timestamp;
  // The payment and the execution take one block each, in addition to their confirmations.
  const blocks = paymentConfirmations + confirmations + 2;
  if (leftSeconds > blocks * blockSecondsMax) return [];
  const seconds = Math.ceil(blocks * (await readSecondsPerBlock(rpc, block)));
  if (leftSeconds > seconds) return [];
  const message =
    `the address expires ${leftSeconds} s after the newest block, but a payment made now is ` +
    "final after " +
    `about ${seconds} s (${blocks} blocks of this chain)`;
  const cure = `use at least ${block.timestamp + seconds * 2} plus the time that payers need`;
  return [{ path: ["expirationTimestamp"], code: "expires_too_near", message, cure }];
}

/**
 * Returns the average number of seconds between blocks. The result is at most
 * {@link blockSecondsMax}, because a halted chain raises the average.
 */
async function readSecondsPerBlock(rpc: ChainRpc, block: BlockReference): Promise<number> {
  const measured = Math.min(blocksMeasured, block.number);
  if (measured === 0) return blockSecondsMax;
  const { method, params } = blockCall(block.number - measured);
  const { timestamp } = blockOf(await rpc.request(method, params));
  return Math.min(blockSecondsMax, (block.timestamp - timestamp) / measured);
}
