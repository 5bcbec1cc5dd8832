// Builds each simulation request in several variants, because some nodes reject overrides.
//
// A simulation overrides the gas price, the balance, and block fields. Some endpoints do not
// support all overrides. Realistic simulations make it hard for a contract to behave differently on
// chain. A contract can still recognize a simulation, because nobody can predict a block's
// randomness and builder. A contract can also recognize a simulated recovery, because its
// transaction origin is the address itself.

import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import type { BlockPace } from "../../chain/rpc/heads.ts";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import type { Pass } from "../pass.ts";
import type { Purse } from "../transactions/purse.ts";

/** A call, and its sender's balance in wei. */
type Simulated = { call: { from: Hex; gas: Hex; value?: Hex }; balance: bigint };

/** The gas price in wei, and the expected fields of the next block. */
type Surroundings = { perGas: bigint; block: { time: Hex; baseFeePerGas: Hex }; number: Hex };

export function surroundingsOf(
  { parts, view, memory, nowSeconds }: Pass<{ pace: BlockPace }>,
  purse: Purse,
): Surroundings {
  const { nextBaseFee, suggested } = purse;
  return {
    perGas: nextBaseFee + suggested.priorityFee,
    number: toQuantity(view.head.number + 1),
    block: {
      time: toQuantity(Math.max(nowSeconds, memory.pace.nextSeconds(parts.tuning.pollMs))),
      baseFeePerGas: toQuantity(nextBaseFee),
    },
  };
}

/**
 * Returns three variants of a request for a gas estimate. Some nodes reject overrides of block
 * fields or balances, so each variant has fewer overrides than the previous one. The last variant
 * overrides nothing, and its gas price is 0 if the balance does not cover the call's cost. No
 * request uses the pending block, because some nodes would first execute their whole transaction
 * pool.
 */
export function estimateVariants(surroundings: Surroundings, { call, balance }: Simulated): Call[] {
  const { perGas, block, number } = surroundings;
  const needed = BigInt(call.gas) * perGas + BigInt(call.value ?? 0);
  const state = overrideBalance(call.from, balance, needed);
  const isCovered = balance >= needed;
  const priced = { ...call, gasPrice: toQuantity(perGas) };
  const plain = isCovered ? priced : { ...call, gasPrice: "0x0" };
  const variants = [
    [priced, "latest", state, { number, ...block }],
    [priced, "latest", state],
    [plain, "latest"],
  ];
  return variants.map((params) => ({ method: "eth_estimateGas", params }));
}

/**
 * Returns two variants of the `eth_simulateV1` request for several calls from one sender. The
 * second variant does not override block fields.
 */
export function simulationVariants(
  { perGas, block }: Surroundings,
  calls: readonly { from: Hex; to: Hex; data: Hex; gas: Hex }[],
  balance: bigint,
): Call[] {
  const { from, gas } = calls[0]!;
  const state = overrideBalance(from, balance, BigInt(gas) * perGas * BigInt(calls.length));
  const priced = calls.map(({ data, ...rest }) => {
    return { ...rest, input: data, gasPrice: toQuantity(perGas) };
  });
  const run = { stateOverrides: state, calls: priced };
  return [{ blockOverrides: block, ...run }, run].map((each) => ({
    method: "eth_simulateV1",
    params: [{ blockStateCalls: [each] }, "latest"],
  }));
}

/** Returns a state override that adds `needed` wei to a balance that is lower than `needed`. */
const overrideBalance = (from: Hex, balance: bigint, needed: bigint) => ({
  [from]: { balance: toQuantity(balance >= needed ? balance : balance + needed) },
});

/** Returns whether the node does not accept this variant of the call. */
export function isVariantRefused(method: string, answer: Answer): boolean {
  if ("result" in answer) return false;
  const kind = classifyError(method, answer.error);
  return kind === "invalid_parameters" || kind === "no_funds";
}
