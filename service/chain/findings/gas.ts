// Finds intents that do not suit the executor's gas limit: intents that need more, and intents that
// do less work with less gas. It asks the node for the same estimate as the executor.

import { encodeExecution, type Hex, toHex } from "executable-address";
import type { Finding, Simulation } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { toQuantity } from "executable-address/status";
import { dependsOnGas, floorFactor } from "../execution-gas.ts";
import { askAt, type StateOverrides } from "../rpc/call-at.ts";
import { CallRefused, quantity, revertOf } from "../rpc/json-rpc.ts";
import { classifyError } from "../rpc/node-errors.ts";
import { callGas } from "../simulation/meter.ts";
import type { SimulatedChain } from "../simulation/simulation.ts";

/** The largest gas limit with which the executor simulates an execution. */
export type Ceiling = { executionGasMax: number };

/** The state differs a little when the address is paid, so this share of the ceiling is used. */
const ceilingShare = 0.95;

/** @param from any executor's address */
export async function findGas(
  chain: SimulatedChain & Ceiling,
  simulation: Simulation,
  subject: StatusSubject,
  assumed: StateOverrides,
  from: Hex,
): Promise<Finding[]> {
  const { gasUsed, block } = simulation;
  const ceiling = Math.floor(chain.executionGasMax * ceilingShare);
  const estimate = await estimateAt(chain, block, subject, assumed, { from, gas: ceiling });
  const isBeyond =
    estimate === undefined ? (gasUsed ?? 0) * floorFactor > ceiling : estimate === "fails";
  if (isBeyond) {
    const used = gasUsed === null ? "" : `it uses ${gasUsed} gas, and `;
    const message =
      `${used}it needs a higher gas limit than this service's executor allows: ` +
      `at most ${chain.executionGasMax}, of which one call can use three quarters`;
    const cure = "split the calls among several addresses, or execute it yourself";
    return [{ path: ["calls"], code: "gas_beyond_ceiling", message, cure }];
  }
  if (typeof estimate !== "number" || gasUsed === null) return [];
  if (!dependsOnGas(estimate, gasUsed)) return [];
  const message =
    `with ${callGas} gas it uses ${gasUsed}, and it also succeeds with a limit of ` +
    `${estimate}, with which it does less`;
  const cure =
    "add a call of requireGas before it, or call a contract that reverts if gas is short";
  return [{ path: ["calls"], code: "work_depends_on_gas", message, cure }];
}

/**
 * Returns the least limit up to `gas` with which the execution succeeds; undefined if the node
 * cannot say.
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
