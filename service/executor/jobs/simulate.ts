// Asking a node what would happen, before anything is paid for it. What is simulated may be
// hostile: it gets no more gas than it would be sent with, a few go in one request, a request that
// takes too long is halved until the one to blame is found, and a pass gives all of it a bounded
// time.

import { encodeTransfer, executeCalldata, type Hex, toHex, zeroAddress } from "executable-address";
import {
  type Answer,
  type Call,
  type CallError,
  isRevert,
  quantity,
  toQuantity,
} from "../../chain/rpc/json-rpc.ts";
import { explainRevert } from "../../chain/simulation/revert.ts";
import type { Pass } from "../parts.ts";
import type { Examined } from "./examine.ts";

/** `unknown`: the node could not say, which is nobody's failure. */
export type Simulation =
  | { result: "succeeds"; gas: number }
  | { result: "fails"; reason: string }
  | { result: "unknown" };

const callsTogether = 10;
const togetherMs = 3000;
const aloneMs = 1500;

/**
 * Each execution by itself at the newest block: whether it succeeds, and for what gas. On top of
 * the pending one, some nodes run their whole pool for each of these calls.
 * @returns undefined for those to which this pass did not come
 */
export async function simulateExecutions(
  pass: Pass,
  items: readonly Examined[],
): Promise<(Simulation | undefined)[]> {
  const { parts } = pass;
  const gas = toQuantity(parts.tuning.intentGasMax);
  const calls = items.map(({ job }) => {
    const data = toHex(executeCalldata(job.terms));
    const call = { from: parts.signer.address, to: parts.factory, data, gas };
    return { method: "eth_estimateGas", params: [call, "latest"] };
  });
  return simulateAll(pass, calls);
}

export type SimulatedRecovery = { tokens: Hex[]; gas: number; reason: string };

/**
 * The tokens that would reach `recovery`, and the gas for as many transfers as the dearest: each
 * gets an equal share. The factory passes over one that fails, so the whole succeeds even if
 * nothing is returned: each is asked for by itself.
 * @returns undefined for those to which this pass did not come
 */
export async function simulateRecoveries(
  pass: Pass,
  items: readonly { item: Examined; tokens: readonly Hex[] }[],
): Promise<(SimulatedRecovery | undefined)[]> {
  const gas = toQuantity(pass.parts.tuning.recoveryGasMax);
  const calls = items.flatMap(({ item: { recovery, job, vault }, tokens }) =>
    tokens.map((token) => {
      const amount = vault.balances.get(token) ?? 0n;
      const call =
        token === zeroAddress
          ? { from: job.address, to: recovery, value: toQuantity(amount) }
          : { from: job.address, to: token, data: encodeTransfer(recovery, amount) };
      return { method: "eth_estimateGas", params: [{ ...call, gas, gasPrice: "0x0" }, "latest"] };
    }),
  );
  const found = await simulateAll(pass, calls);
  let at = 0;
  return items.map(({ tokens }) => {
    const mine = found.slice(at, at + tokens.length);
    at += tokens.length;
    return mine.includes(undefined) ? undefined : sumOf(tokens, mine as Simulation[]);
  });
}

function sumOf(tokens: readonly Hex[], simulations: Simulation[]): SimulatedRecovery {
  const sum: SimulatedRecovery = { tokens: [], gas: 0, reason: "simulation_unavailable" };
  let dearest = 0;
  simulations.forEach((simulation, index) => {
    if (simulation.result === "fails") sum.reason = simulation.reason;
    if (simulation.result !== "succeeds") return;
    sum.tokens.push(tokens[index]!);
    dearest = Math.max(dearest, simulation.gas);
  });
  sum.gas = dearest * sum.tokens.length;
  return sum;
}

/** A failure is believed of a second endpoint, where there is one: one alone may lag or lie. */
async function simulateAll(pass: Pass, calls: Call[]): Promise<(Simulation | undefined)[]> {
  const until = pass.parts.clock() + pass.parts.tuning.simulateMsMax;
  const turn = pass.memory.simulateTurn++;
  const found = await tryInParts(pass, calls, turn, until);
  if (pass.view.quorum < 2) return found;
  const failed = found.flatMap((each, index) => (each?.result === "fails" ? [index] : []));
  const again = await tryInParts(
    pass,
    failed.map((index) => calls[index]!),
    turn + 1,
    until,
  );
  again.forEach((each, index) => {
    if (each?.result === "succeeds") found[failed[index]!] = each;
  });
  return found;
}

async function tryInParts(
  pass: Pass,
  calls: readonly Call[],
  turn: number,
  until: number,
): Promise<(Simulation | undefined)[]> {
  const { parts, view } = pass;
  const found = new Array<Simulation | undefined>(calls.length).fill(undefined);
  const queue: number[][] = [];
  const all = calls.map((_, index) => index);
  for (let at = 0; at < all.length; at += callsTogether) {
    queue.push(all.slice(at, at + callsTogether));
  }
  for (let part = queue.shift(); part; part = queue.shift()) {
    // The first is tried whatever the time, so that each pass comes further.
    if (parts.clock() > until && found.some((each) => each !== undefined)) break;
    const isAlone = part.length === 1;
    const answers = await view.tryRead(
      part.map((index) => calls[index]!),
      turn,
      isAlone ? aloneMs : togetherMs,
    );
    if (answers) {
      part.forEach((index, place) => {
        found[index] = simulationOf(answers[place]!);
      });
    } else if (isAlone) {
      found[part[0]!] = { result: "fails", reason: `not simulated within ${aloneMs} ms` };
    } else {
      const half = Math.ceil(part.length / 2);
      queue.unshift(part.slice(0, half), part.slice(half));
    }
  }
  return found;
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
