// What a simulation is given besides its call, so that the call cannot tell it from the
// transaction: a price of gas, the coin to pay it with, and the block that it will meet. A call can
// still tell by that block's randomness and builder, which nobody knows before, and a recovery by
// its origin, which is the vault here.

import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import type { Pass } from "../parts.ts";
import type { Purse } from "../transactions/send.ts";

/** A call that the sender, with `balance` wei, is to afford. */
type Simulated = { call: { from: Hex; gas: Hex; value?: Hex }; balance: bigint };

/** The price of gas in wei and the block that a transaction sent now would meet. */
type Surroundings = { perGas: bigint; block: { time: Hex; baseFeePerGas: Hex }; number: Hex };

export function openForms({ view, memory, nowSeconds }: Pass, purse: Purse): Surroundings {
  const { nextBaseFee, suggested } = purse;
  return {
    perGas: nextBaseFee + suggested.priorityFee,
    number: toQuantity(view.head.number + 1),
    block: {
      time: toQuantity(Math.max(nowSeconds, memory.pace.nextSeconds())),
      baseFeePerGas: toQuantity(nextBaseFee),
    },
  };
}

/**
 * The ways to ask for one estimate, the truest first. Not all nodes take another block's fields, or
 * another balance: without that, a price goes only with what the balance covers.
 * Not at the pending block: there some nodes run their whole pool for each call.
 */
export function estimateForms(surroundings: Surroundings, { call, balance }: Simulated): Call[] {
  const { perGas, block, number } = surroundings;
  const needed = BigInt(call.gas) * perGas + BigInt(call.value ?? 0);
  const state = stateOf(call.from, balance, needed);
  const isCovered = balance >= needed;
  const priced = { ...call, gasPrice: toQuantity(perGas) };
  const plain = isCovered ? priced : { ...call, gasPrice: "0x0" };
  const forms = [
    [priced, "latest", state, { number, ...block }],
    [priced, "latest", state],
    [plain, "latest"],
  ];
  return forms.map((params) => ({ method: "eth_estimateGas", params }));
}

/** The ways to ask for the gas that each of some calls of one sender uses, the truest first. */
export function simulationForms(
  { perGas, block }: Surroundings,
  calls: readonly { from: Hex; to: Hex; data: Hex; gas: Hex }[],
  balance: bigint,
): Call[] {
  const { from, gas } = calls[0]!;
  const state = stateOf(from, balance, BigInt(gas) * perGas * BigInt(calls.length));
  const priced = calls.map(({ data, ...rest }) => {
    return { ...rest, input: data, gasPrice: toQuantity(perGas) };
  });
  const run = { stateOverrides: state, calls: priced };
  return [{ blockOverrides: block, ...run }, run].map((each) => ({
    method: "eth_simulateV1",
    params: [{ blockStateCalls: [each] }, "latest"],
  }));
}

/** The state in which the sender can pay what is needed, with its own balance if that suffices. */
const stateOf = (from: Hex, balance: bigint, needed: bigint) => ({
  [from]: { balance: toQuantity(balance >= needed ? balance : balance + needed) },
});

/** The node does not take the form, whatever the call is. */
export function isFormRefused(answer: Answer): boolean {
  if ("result" in answer) return false;
  const kind = classifyError("eth_estimateGas", answer.error);
  return kind === "invalid_parameters" || kind === "no_funds";
}
