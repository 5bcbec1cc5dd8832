// Checks whether payments or returns of the requested token would fail. Also finds amounts that
// were probably scaled with the wrong number of decimals. Tokens have no standard function that
// describes their rules, so the check simulates transfers.

import { encodeBalanceOf, encodeTransfer, type Hex } from "executable-address";
import type { Finding } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import { formatUnits, hexToBigInt, keccak256, size, slice } from "viem/utils";
import type { Token } from "../chains.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { encodeViewCall, type StateOverrides } from "../rpc/chain-rpc.ts";
import { askAll, type Question, type Reply } from "./questions.ts";

/** Returns an account that is derived from `address` and whose private key nobody knows. */
const keylessAccountOf = (address: Hex) => slice(keccak256(address), 12);

const isDone = (reply: Reply) =>
  reply?.succeeded === true && !(size(reply.data) === 32 && hexToBigInt(reply.data) === 0n);
const wordOf = (reply: Reply) =>
  reply?.succeeded && size(reply.data) === 32 ? hexToBigInt(reply.data) : undefined;

export type TokenAnswers = {
  supply: bigint | undefined;
  /** Whether the address can transfer the token. Undefined if the node returned no result. */
  canMove: boolean | undefined;
  canReturn: boolean | undefined;
  canReturnCoin: boolean | undefined;
  recoveryIsToken: boolean;
  /**
   * Set only if the recipient receives less than was sent. The token then charges a fee on
   * transfers.
   */
  arrives: { sent: bigint; received: bigint } | undefined;
};

/** `balance` is the balance of the address with the overrides `state`. */
export async function askToken(
  rpc: ChainRpc,
  block: BlockReference,
  { address, intent }: StatusSubject,
  { state, balance }: { state: StateOverrides; balance: bigint },
): Promise<TokenAnswers> {
  const { token, recovery } = intent;
  const keyless = keylessAccountOf(address);
  const sent = balance - 1n;
  const questions: Question[] = [
    encodeViewCall(token, "totalSupply()"),
    encodeViewCall(recovery, "totalSupply()"),
    { from: address, to: recovery, data: "0x", value: 1n },
    { from: address, to: token, data: encodeTransfer(recovery, 1n) },
    { from: address, to: token, data: encodeTransfer(keyless, sent) },
    { to: token, data: encodeBalanceOf(keyless) },
  ];
  const withCoin = { ...state, [address]: { balance: "0x1" as const } };
  const { replies, isSequence } = await askAll(rpc, block, questions, withCoin);
  const [supply, asToken, coin, back, out, arrived] = replies;
  const received = isSequence && isDone(out) ? wordOf(arrived) : undefined;
  const succeeded = (reply: Reply) => (reply === undefined ? undefined : isDone(reply));
  return {
    supply: wordOf(supply),
    canMove: succeeded(out),
    canReturn: succeeded(back),
    canReturnCoin: coin?.succeeded,
    recoveryIsToken: wordOf(asToken) !== undefined,
    arrives: received !== undefined && received < sent ? { sent, received } : undefined,
  };
}

/** @param blocked the paths in the intent to the addresses that are blocked by the token */
export function findTokenDoubts(
  { intent }: StatusSubject,
  answers: TokenAnswers,
  blocked: readonly (string | number)[][],
  isPaused: boolean,
): Finding[] {
  const findings: Finding[] = blocked.map((path) => ({
    path,
    code: "token_blocks_address",
    message: "the token blocks this address: transfers to and from it fail",
    cure: "use a different address or token",
  }));
  const { supply, canMove, canReturn, canReturnCoin, recoveryIsToken, arrives } = answers;
  if (canMove === false) findings.push(isPaused ? pausedToken : refusingToken);
  const isRecoveryBlocked = blocked.some(([field]) => field === "recovery");
  if (canMove && canReturn === false && !isRecoveryBlocked) findings.push(refusedRecovery);
  if (canReturnCoin === false) findings.push(refusedCoin);
  if (recoveryIsToken) findings.push(tokenAsRecovery);
  if (arrives) findings.push(feeOf(arrives));
  if (supply !== undefined && BigInt(intent.amount) > supply) {
    const message = `the total supply of this token is ${supply} base units`;
    const cure = "use a smaller amount (amounts are in base units)";
    findings.push({ path: ["amount"], code: "amount_beyond_supply", message, cure });
  }
  return findings;
}

const pausedToken: Finding = {
  path: ["token"],
  code: "token_paused",
  message: "the token is paused: nobody can pay the address, and its calls would fail",
  cure: "use a different token, or wait until its issuer resumes it",
};
const refusingToken: Finding = {
  path: ["token"],
  code: "token_refuses_transfers",
  message: "the token rejects every transfer from the address",
  cure: "use a different token",
};
const refusedRecovery: Finding = {
  path: ["recovery"],
  code: "recovery_cannot_receive",
  message: "the token cannot be sent to this address, so no money could be returned",
  cure: "use an address that can receive this token",
};
const refusedCoin: Finding = {
  path: ["recovery"],
  code: "recovery_refuses_coin",
  message:
    "the contract does not accept native coin, so native coin paid by mistake could not be " +
    "returned",
  cure: "use a wallet address, or a contract with a receive function",
};
const tokenAsRecovery: Finding = {
  path: ["recovery"],
  code: "recovery_is_token",
  message: "the address is a token contract, where received tokens are usually lost",
  cure: "use a wallet of the person who should get the money back",
};
const feeOf = ({ sent, received }: { sent: bigint; received: bigint }): Finding => ({
  path: ["token"],
  code: "token_takes_fee",
  message:
    `the token takes a fee: if ${sent} are sent, ${received} arrive, so a payment of the exact ` +
    "amount is too small",
  cure: "ask payers for more than the amount, or use a different token",
});

/**
 * Functions that return whether a token blocks an address: Circle's, Tether's, and two other common
 * ones.
 */
const blockQuestions = ["isBlacklisted", "isBlackListed", "isBlocked", "isFrozen"];

/**
 * Returns the `accounts` that the token blocks according to any function in {@link blockQuestions}.
 */
export async function findBlocked(
  rpc: ChainRpc,
  block: BlockReference,
  token: Hex,
  accounts: readonly Hex[],
): Promise<Set<Hex>> {
  const pairs = accounts.flatMap((account) =>
    blockQuestions.map((name) => ({
      account,
      question: encodeViewCall(token, `${name}(address account)`, [account]),
    })),
  );
  const questions = pairs.map(({ question }) => question);
  const { replies } = await askAll(rpc, block, questions);
  return new Set(pairs.flatMap(({ account }, at) => (wordOf(replies[at]) === 1n ? [account] : [])));
}

/** Common numbers of decimals. Zero is included because people write amounts in whole tokens. */
const usual = [18, 6, 8, 0];

const isOrdinary = (amount: bigint, decimals: number) =>
  amount >= 10n ** BigInt(Math.max(0, decimals - 2)) && amount < 10n ** BigInt(decimals + 7);

/** Returns whether the amount is too small even for a valuable token such as wrapped bitcoin. */
const isDust = (amount: bigint, decimals: number) =>
  decimals >= 6 && amount < 10n ** BigInt(Math.max(3, decimals - 6));

const isHuge = (amount: bigint, decimals: number) => amount >= 10n ** BigInt(decimals + 10);

/**
 * Finds an amount that was probably scaled with the wrong number of decimals. An ordinary amount is
 * between a hundredth of a token and ten million tokens. An amount far outside this range is
 * reported if another common number of decimals would make it ordinary.
 */
export function findWrongDecimals(amountText: string, token: Token): Finding[] {
  const { decimals, symbol } = token;
  const amount = BigInt(amountText);
  if (!isDust(amount, decimals) && !isHuge(amount, decimals)) return [];
  const meant = usual.find((each) => each !== decimals && isOrdinary(amount, each));
  if (meant === undefined) return [];
  const wanted = formatUnits(amount, meant);
  const scaled = amount * 10n ** BigInt(Math.max(0, decimals - meant));
  const right = scaled / 10n ** BigInt(Math.max(0, meant - decimals));
  return [
    {
      path: ["amount"],
      code: "amount_decimals",
      message: `this is ${formatUnits(amount, decimals)} ${symbol}, which has ${decimals} decimals`,
      cure: `for ${wanted} ${symbol}, write ${right}`,
    },
  ];
}
