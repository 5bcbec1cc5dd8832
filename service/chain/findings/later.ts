// Finds calls that succeed now and would fail later: at the expiry, or when somebody else executes
// them with other gas.

import { encodeExecution, type Hex, toHex } from "executable-address";
import type { Finding, Simulation } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { toQuantity } from "executable-address/status";
import { isHex } from "viem/utils";
import { askAt, type StateOverrides } from "../rpc/call-at.ts";
import { revertOf } from "../rpc/json-rpc.ts";
import { callGas } from "../simulation/meter.ts";
import { failureOf } from "../simulation/revert.ts";
import type { SimulatedChain } from "../simulation/simulation.ts";

/** Two that nobody has. */
export const executors: readonly [Hex, Hex] = [`0x${"a1".repeat(20)}`, `0x${"b2".repeat(20)}`];
/** Twice what a run used, and what a transaction takes besides. */
const tightGas = ({ gasUsed }: Simulation) => (gasUsed === null ? callGas : 2 * gasUsed + 100_000);

/** @param simulation that succeeded at `block` */
export async function findLater(
  chain: SimulatedChain,
  { block, ...simulation }: Simulation,
  subject: StatusSubject,
  assumed: StateOverrides,
): Promise<Finding[]> {
  const { expirationTimestamp } = subject.intent;
  const run = (how: How) => reasonOf(chain, block, subject, assumed, how);
  const [first, second] = executors;
  const [atExpiry, ...byOthers] = await Promise.all([
    run({ from: first, gas: callGas, time: expirationTimestamp }),
    run({ from: first, gas: callGas }),
    run({ from: second, gas: tightGas({ block, ...simulation }) }),
  ]);
  const other = byOthers.find((reason) => reason !== undefined);
  if (other !== undefined) {
    const message = `it succeeds for one and fails for another who executes it: ${other}`;
    const cure = "call what asks neither who sends the transaction nor how much gas is left";
    return [{ path: ["calls"], code: "depends_on_executor", message, cure }];
  }
  if (atExpiry === undefined) return [];
  const message = `it succeeds now and fails at its expiry: ${atExpiry}`;
  const cure = "let it expire before the calls cease to work";
  return [{ path: ["expirationTimestamp"], code: "fails_at_expiry", message, cure }];
}

/** `time`: of the block, Unix seconds, on nodes that let it be chosen. */
type How = { readonly from: Hex; readonly gas: number; readonly time?: number };

/** Why it fails so; undefined where it succeeds, or the node does not say. */
async function reasonOf(
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
    return isHex(revert?.data) ? failureOf(revert.data).reason : revert?.message;
  }
}
