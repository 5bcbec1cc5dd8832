// Finds calls that fail, and problems after successful calls. Such problems are money that stays at
// the address, money that is lost, and allowances that remain. With an allowance, the spender could
// take money that arrives later, before it is sent back.

import {
  type Approval,
  approvalOf,
  encodeExecution,
  type Hex,
  type Intent,
  type Path,
  toHex,
  zeroAddress,
} from "executable-address";
import type { Finding, Simulation } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { hexToBigInt, size, sliceHex } from "viem/utils";
import { min } from "../../flow/numbers.ts";
import { encodeViewCall, type StateOverrides } from "../rpc/chain-rpc.ts";
import { callGas } from "../simulation/meter.ts";
import { noContract, tooLittleGas } from "../simulation/revert.ts";
import type { SimulatedChain } from "../simulation/simulation.ts";
import { type Codes, canMoveTokens, isDelegating } from "./contracts.ts";
import { askAll, type Question, type Reply } from "./questions.ts";

/** @param isExplained whether another finding already explains why the calls fail */
export function findFailure(
  { outcome, reason, failedCall }: Simulation,
  isExplained: boolean,
): Finding[] {
  if (outcome === "unknown") {
    const message = `the calls could not be simulated: ${reason}`;
    const cure = "test the same calls with a small amount first";
    return [{ path: [], code: "not_simulated", message, cure }];
  }
  if (outcome !== "fails" || isExplained) return [];
  if (failedCall !== null && reason === noContract) {
    const message = "there is no contract at this address when the call runs";
    const cure = "call a contract of this chain, or one that an earlier call creates";
    const path = ["calls", failedCall, "target"];
    return [{ path, code: "target_without_code", message, cure }];
  }
  const path = failedCall === null ? ["calls"] : ["calls", failedCall];
  if (reason === tooLittleGas) {
    const message =
      `${reason} (${callGas}): the call needs more gas than a transaction can have, or an inner ` +
      "call uses all the gas that it receives, so no limit is high enough";
    const cure =
      "call a contract that uses less gas and sets a gas limit for inner calls that can fail";
    return [{ path, code: "call_reverts", message, cure }];
  }
  const cure = "change the call or its conditions so that it succeeds with the paid amount";
  return [{ path, code: "call_reverts", message: `the call fails: ${reason}`, cure }];
}

/**
 * Finds money that would stay at the address. This money is unspent, or consists of other tokens
 * that the calls send to the address.
 */
export function findLeftOver(
  simulation: Simulation,
  { address, intent }: StatusSubject,
): Finding[] {
  if (simulation.outcome !== "succeeds") return [];
  const mine = simulation.changes.filter(({ account }) => account === address);
  const spent = -BigInt(mine.find(({ token }) => token === intent.token)?.change ?? 0);
  const left = BigInt(intent.amount) - spent;
  const findings: Finding[] = [];
  if (left > 0n && simulation.scope !== null) {
    findings.push({
      path: ["amount"],
      code: "money_left_over",
      message:
        `the calls spend ${spent} of ${intent.amount}; the remaining ${left} would stay at the ` +
        "address until a recovery",
      cure: `use the amount ${spent}, or add a call that transfers the rest`,
    });
  }
  for (const { token, change, symbol } of mine) {
    if (token === intent.token || BigInt(change) <= 0n) continue;
    const name = token === zeroAddress ? "native coin" : (symbol ?? token);
    findings.push({
      path: ["calls"],
      code: "other_tokens_left",
      message: `the calls leave ${change} base units of ${name} at the executable address`,
      cure: "set the final recipient in this call, or transfer the tokens in another call",
    });
  }
  return findings;
}

/** An account that receives a token. `path` is the place in the intent where the account occurs. */
type Receiver = { readonly account: Hex; readonly path: Path };

const transferring = /^(transfer|safeTransfer|mint)\(address \w+, uint256 \w+\)$/;
const pulling = /^(transferFrom|safeTransferFrom)\(address \w+, address \w+, uint256 \w+\)$/;

/**
 * Returns the accounts that receive tokens:
 * - receivers in the calls
 * - accounts whose balance grows in the simulation
 * - `recovery`
 */
export function receiversOf(
  { address, intent }: StatusSubject,
  { changes }: Pick<Simulation, "changes">,
): Receiver[] {
  const named = intent.calls.flatMap(({ function: text, args }, index): Receiver[] => {
    const at = transferring.test(text) ? 0 : pulling.test(text) ? 1 : undefined;
    if (at === undefined || args[at + 1] === "0") return [];
    return [{ account: args[at] as Hex, path: ["calls", index, "args", at] }];
  });
  const shown = changes
    .filter(({ token, change }) => token !== zeroAddress && BigInt(change) > 0n)
    .map(({ account }) => ({ account, path: placeOf(account, intent) }));
  const recovery: Receiver = { account: intent.recovery, path: ["recovery"] };
  const found = new Map<Hex, Receiver>();
  for (const receiver of [...named, ...shown, recovery])
    if (receiver.account !== address && !found.has(receiver.account))
      found.set(receiver.account, receiver);
  return [...found.values()];
}

function placeOf(account: Hex, { calls }: Intent): Path {
  for (const [index, { args }] of calls.entries()) {
    const at = args.indexOf(account);
    if (at >= 0) return ["calls", index, "args", at];
  }
  const target = calls.findIndex((call) => call.target === account);
  return target >= 0 ? ["calls", target, "target"] : ["calls"];
}

const burnt: ReadonlySet<Hex> = new Set<Hex>(["0x000000000000000000000000000000000000dEaD"]);
/** All addresses below this number are the zero address or reserved for precompiles. */
const ordinaryMin = 1n << 16n;

/**
 * Finds money that would be lost. The receiver has no owner, or is a contract that cannot transfer
 * tokens.
 *
 * @param codes the code of each receiver
 */
export function findLost(
  { intent }: StatusSubject,
  receivers: readonly Receiver[],
  factory: Hex,
  codes: Codes,
): Finding[] {
  const called = new Set(
    intent.calls.filter((call) => !transferring.test(call.function)).map(({ target }) => target),
  );
  return receivers.flatMap(({ account, path }): Finding[] => {
    const isNobody =
      burnt.has(account) || account === factory || hexToBigInt(account) < ordinaryMin;
    if (isNobody || (account === intent.token && path[0] !== "recovery"))
      return [{ path, code: "money_lost", ...lost }];
    const code = codes.get(account) ?? "0x";
    if (code === "0x" || isDelegating(code) || called.has(account) || canMoveTokens(code))
      return [];
    return [{ path, code: "receiver_cannot_move", ...stuck }];
  });
}

const lost = {
  message: "nobody can move money that is sent to this address",
  cure: "use the address of the intended recipient",
};
const stuck = {
  message: "the contract receives a plain transfer, but its code cannot transfer tokens",
  cure:
    "if the contract collects approved tokens, approve the amount instead and then call the " +
    "contract; otherwise use a wallet address",
};

/** @param codes the code of each call's target */
export function findWallets({ intent }: StatusSubject, codes: Codes): Finding[] {
  return intent.calls.flatMap(({ target }, index): Finding[] => {
    if (!isDelegating(codes.get(target) ?? "0x")) return [];
    const message =
      "the target is a wallet with delegated code, and its owner can change that code";
    const cure = "call a contract; to pay a wallet, transfer the token to it";
    return [{ path: ["calls", index, "target"], code: "target_is_wallet", message, cure }];
  });
}

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
