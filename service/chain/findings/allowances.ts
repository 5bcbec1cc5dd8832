// Finds allowances that remain after successful calls. With an allowance, the spender could take
// money that arrives later, before it is sent back.

import { type Approval, approvalOf, encodeExecution, type Hex, toHex } from "executable-address";
import type { Finding } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { hexToBigInt, size, sliceHex } from "viem/utils";
import { min } from "../../flow/numbers.ts";
import { encodeViewCall, type StateOverrides } from "../rpc/chain-rpc.ts";
import { callGas } from "../simulation/meter.ts";
import type { SimulatedChain } from "../simulation/simulation.ts";
import { askAll, type Question, type Reply } from "./questions.ts";

/**
 * The result is empty if the node does not support eth_simulateV1. Only this method can read the
 * allowances after the calls.
 */
export async function findAllowances(
  { rpc, factory }: SimulatedChain,
  block: BlockReference,
  subject: StatusSubject,
  assumed: StateOverrides,
): Promise<Finding[]> {
  const given = givenIn(subject);
  if (given.length === 0) return [];
  const execution = {
    ...{ to: factory, gas: callGas },
    data: toHex(encodeExecution(subject.intent)),
  };
  const limits = given.flatMap((each) => limitsOf(each, subject.address));
  const questions = [execution, ...limits.map(({ question }) => question)];
  const { replies, isSequence } = await askAll(rpc, block, questions, assumed);
  const [executed, ...answers] = replies;
  if (!isSequence || !executed?.succeeded) return [];
  return given.flatMap((each): Finding[] => {
    const amounts = limits.flatMap((limit, index) =>
      limit.of === each ? [readLimit(limit, answers[index], block)] : [],
    );
    const left = amounts.reduce(min);
    if (left === 0n) return [];
    const { at, spender, amountAt } = each;
    const message = `${spender} can still take up to ${left} base units of later payments`;
    const cure = "approve exactly the amount that the next call takes, or approve 0 at the end";
    return [{ path: ["calls", at, "args", amountAt], code: "allowance_left", message, cure }];
  });
}

/**
 * An allowance that a call of the intent sets. `at` is the index of the last call that sets the
 * allowance.
 */
type Given = Approval & { at: number; target: Hex };

function givenIn({ intent }: StatusSubject): Given[] {
  const found = new Map<string, Given>();
  intent.calls.forEach((call, at) => {
    const approval = approvalOf(call);
    // Allowances for NFT collections are not amounts, so they are not checked here. The payment
    // page warns of calls that set such an allowance.
    if (!approval?.isUsable || approval.kind === "collection") return;
    const { target } = call;
    found.set(`${target}${approval.token}${approval.spender}`, { ...approval, at, target });
  });
  return [...found.values()];
}

/** A view call that returns the maximum amount that the spender of an allowance can take. */
type Limit = { of: Given; in: "token" | "permit2"; question: Question };

/**
 * Returns the view calls that read all limits of an allowance. An allowance in Permit2 has two
 * limits. Permit2 limits the spender, and the token limits Permit2.
 */
function limitsOf(given: Given, owner: Hex): Limit[] {
  const { kind, target, token, spender } = given;
  const inToken = (by: Hex): Limit => {
    const text = "allowance(address owner, address spender)";
    return { of: given, in: "token", question: encodeViewCall(token, text, [owner, by]) };
  };
  if (kind !== "permit2") return [inToken(spender)];
  const text = "allowance(address owner, address token, address spender)";
  const question = encodeViewCall(target, text, [owner, token, spender]);
  return [{ of: given, in: "permit2", question }, inToken(target)];
}

/** Returns 0 if the contract gives no valid answer. */
function readLimit(limit: Limit, reply: Reply, { timestamp }: BlockReference): bigint {
  // Permit2 returns the amount, the last second in which it can be used, and a nonce.
  const words = limit.in === "permit2" ? 3 : 1;
  if (!reply?.succeeded || size(reply.data) !== 32 * words) return 0n;
  const amount = hexToBigInt(sliceHex(reply.data, 0, 32));
  if (limit.in === "token") return amount;
  return hexToBigInt(sliceHex(reply.data, 32, 64)) > BigInt(timestamp) ? amount : 0n;
}
