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

/**
 * The ways to ask for one estimate, the truest first. Not all nodes take another block's fields, or
 * another balance: without that, a price goes only with what the balance covers.
 * Not at the pending block: there some nodes run their whole pool for each call.
 */
export function formsFor({ view, memory, nowSeconds }: Pass, purse: Purse) {
  const { nextBaseFee, suggested } = purse;
  const perGas = nextBaseFee + suggested.priorityFee;
  const block = {
    number: toQuantity(view.head.number + 1),
    time: toQuantity(Math.max(nowSeconds, memory.pace.nextSeconds())),
    baseFeePerGas: toQuantity(nextBaseFee),
  };
  return ({ call, balance }: Simulated): Call[] => {
    const needed = BigInt(call.gas) * perGas + BigInt(call.value ?? 0);
    const isCovered = balance >= needed;
    const priced = { ...call, gasPrice: toQuantity(perGas) };
    const state = { [call.from]: { balance: toQuantity(isCovered ? balance : balance + needed) } };
    const plain = isCovered ? priced : { ...call, gasPrice: "0x0" };
    const forms = [
      [priced, "latest", state, block],
      [priced, "latest", state],
      [plain, "latest"],
    ];
    return forms.map((params) => ({ method: "eth_estimateGas", params }));
  };
}

/** The node does not take the form, whatever the call is. */
export function isFormRefused(answer: Answer): boolean {
  if ("result" in answer) return false;
  const kind = classifyError("eth_estimateGas", answer.error);
  return kind === "invalid_parameters" || kind === "no_funds";
}
