// Asking a node what would happen, before anything is paid for it.

import type { Hex } from "executable-address";
import { type Answer, type CallError, isRevert, quantity } from "../../chain/rpc/json-rpc.ts";
import { explainRevert } from "../../chain/simulation/revert.ts";
import type { Pass } from "../parts.ts";
import { executeCalldata, nativeCoin, transferCalldata } from "./calldata.ts";
import type { Examined } from "./examine.ts";

/** `unknown`: the node could not say, which is nobody's failure. */
export type Simulation =
  | { result: "succeeds"; gas: number }
  | { result: "fails"; reason: string }
  | { result: "unknown" };

/**
 * Each execution by itself at the newest block: whether it succeeds, and for what gas. On top of
 * the pending one, some nodes run their whole pool for each of these calls.
 */
export async function simulateExecutions(
  pass: Pass,
  items: readonly Examined[],
): Promise<Simulation[]> {
  const { parts, view } = pass;
  const calls = items.map(({ job }) => {
    const data = executeCalldata(job.terms);
    const call = { from: parts.signer.address, to: parts.factory, data };
    return { method: "eth_estimateGas", params: [call, "latest"] };
  });
  return (await view.read(calls, () => true)).map(simulationOf);
}

/**
 * The tokens that would reach `recovery`, and the gas their transfers take. The factory passes over
 * one that fails, so the whole succeeds even if nothing is returned: each is asked for by itself.
 */
export async function simulateRecovery(
  pass: Pass,
  item: Examined,
  tokens: readonly Hex[],
): Promise<{ tokens: Hex[]; gas: number; reason: string }> {
  const { recovery, job, vault } = item;
  const calls = tokens.map((token) => {
    const amount = vault.balances.get(token) ?? 0n;
    const call =
      token === nativeCoin
        ? { from: job.address, to: recovery, value: `0x${amount.toString(16)}` }
        : { from: job.address, to: token, data: transferCalldata(recovery, amount) };
    return { method: "eth_estimateGas", params: [{ ...call, gasPrice: "0x0" }, "latest"] };
  });
  const answers = (await pass.view.read(calls, () => true)).map(simulationOf);
  const good: Hex[] = [];
  let gas = 0;
  let reason = "simulation_unavailable";
  answers.forEach((answer, index) => {
    if (answer.result === "fails") reason = answer.reason;
    if (answer.result !== "succeeds") return;
    good.push(tokens[index]!);
    gas += answer.gas;
  });
  return { tokens: good, gas, reason };
}

function simulationOf(answer: Answer): Simulation {
  if ("result" in answer) return { result: "succeeds", gas: Number(quantity(answer.result)) };
  const { error } = answer;
  const isOverGas = /gas required exceeds|exceeds (block )?gas|intrinsic gas/i.test(error.message);
  if (!isRevert(error) && !isOverGas) return { result: "unknown" };
  return { result: "fails", reason: reasonOf(error) };
}

function reasonOf({ data, message }: CallError): string {
  if (typeof data === "string" && /^0x([0-9a-f]{2})+$/i.test(data))
    return explainRevert(data as Hex);
  return message.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
}
