// Describes calls in words. Only describes functions of listed tokens and known contracts. A
// function of an unknown contract can do anything, regardless of its name.

import {
  type AddressRecord,
  type Approval,
  approvalOf,
  type Call,
  type Collection,
  collectionOf,
  collectorAddress,
  conditionsAddress,
  guardsAddress,
  type Hex,
  type Intent,
  type Requirement,
  type Tip,
  tipAddress,
  unlimitedFrom,
  zeroAddress,
} from "executable-address";
import { type Chain, formatUnits, isSame, type Token } from "executable-address-element/page";
import { splitFunction, writeSignature } from "./function.ts";
import type { Key, Say } from "./words/languages.ts";

/** Returns the token listed at `address` on the chain of an intent. */
export function findToken(
  intent: Pick<Intent, "chainId">,
  chains: readonly Chain[],
  address: Hex,
): Token | undefined {
  return chains
    .find(({ chainId }) => chainId === intent.chainId)
    ?.tokens.find((token) => isSame(token.address, address));
}

/**
 * Returns text such as "25 USDC" for a listed token. For other tokens, returns base units, which
 * cannot mislead.
 */
export function sayAmount(amount: string, token: Token | undefined, say: Say): string {
  if (BigInt(amount) >= unlimitedFrom) return say("unlimitedAmount");
  if (!token) return say("baseUnits", { amount: formatUnits(amount, 0) });
  return `${formatUnits(amount, token.decimals)} ${token.symbol}`;
}

/** The operator's names for contracts, by lowercase address. */
export type Labels = Readonly<Record<string, string>>;

/**
 * Returns the role or name of an address, from the record or the operator's labels. The recovery
 * address gets no name, because the payer should see the address itself.
 */
export function sayParty(
  address: string,
  { address: vault, factory, intent }: AddressRecord,
  labels: Labels,
  say: Say,
): string | undefined {
  if (isSame(address, vault)) return say("partyVault");
  if (isSame(address, intent.token)) return say("partyToken");
  if (isSame(address, factory)) return say("partyFactory");
  if (isSame(address, tipAddress)) return say("partyTip");
  if (isSame(address, conditionsAddress)) return say("partyConditions");
  if (isSame(address, guardsAddress)) return say("partyGuards");
  if (isSame(address, collectorAddress)) return say("partyCollector");
  return labels[address.toLowerCase()];
}

/** A text and the values of its placeholders. A value is a string or an address. */
export type Sentence = { as: Key; values: Record<string, string | { address: string }> };

/** Describes the functions that every token has. Returns undefined for all other functions. */
export function sayCall(call: Call, token: Token | undefined, say: Say): Sentence | undefined {
  if (!token) return undefined;
  const approval = approvalOf(call);
  if (approval?.kind === "sets") return sayApproval(approval, token, say);
  const [first = "", second = "", third = ""] = call.args;
  switch (writeSignature(splitFunction(call.function))) {
    case "transfer(address,uint256)":
      return {
        as: "callSends",
        values: { amount: sayAmount(second, token, say), to: { address: first } },
      };
    case "transferFrom(address,address,uint256)":
      return {
        as: "callMoves",
        values: {
          amount: sayAmount(third, token, say),
          from: { address: first },
          to: { address: second },
        },
      };
    default:
      return undefined;
  }
}

function sayApproval(
  { spender: address, amount, isUnlimited }: Approval,
  token: Token,
  say: Say,
): Sentence {
  const spender = { address };
  if (amount === 0n) return { as: "callRevokes", values: { spender, token: token.symbol } };
  if (isUnlimited) return { as: "callApprovesAny", values: { spender } };
  return { as: "callApproves", values: { spender, amount: sayAmount(`${amount}`, token, say) } };
}

/** @param token the payment's token, if it is listed */
export const sayCollection = (
  { least, most, recipient }: Collection,
  token: Token | undefined,
  say: Say,
): Sentence => ({
  as: "callCollects",
  values: {
    least: sayAmount(`${least}`, token, say),
    most: sayAmount(`${most}`, token, say),
    to: { address: recipient },
  },
});

/** @param token the tip's token, if it is listed */
export const sayTip = ({ amount }: Tip, token: Token | undefined, say: Say): Sentence => ({
  as: "callTips",
  values: { amount: sayAmount(String(amount), token, say) },
});

/** @param tokenOf returns the listed token at an address */
export function sayRequirement(
  required: Requirement,
  tokenOf: (address: Hex) => Token | undefined,
  say: Say,
): Sentence {
  switch (required.of) {
    case "executed":
      return { as: "callIfExecuted", values: { vault: { address: required.vault } } };
    case "closed":
      return { as: "callIfClosed", values: { vault: { address: required.vault } } };
    case "gas":
      return { as: "callIfGas", values: { gas: formatUnits(`${required.gas}`, 0) } };
    case "balance": {
      const { token, min, holder } = required;
      const amount = sayAmount(`${min}`, tokenOf(token), say);
      const values = { amount, holder: { address: holder }, token: { address: token } };
      if (token === zeroAddress) return { as: "callIfCoin", values };
      return { as: tokenOf(token) ? "callIfBalance" : "callIfUnknownBalance", values };
    }
  }
}

/**
 * Returns the total amount in base units if all calls transfer the intent's token. Returns
 * undefined for other calls, or if the token is not listed.
 */
export const sumTransfers = (intent: Intent, chains: readonly Chain[]): bigint | undefined =>
  findToken(intent, chains, intent.token) &&
  intent.calls.every(
    ({ target, function: text }) =>
      isSame(target, intent.token) &&
      writeSignature(splitFunction(text)) === "transfer(address,uint256)",
  )
    ? intent.calls.reduce((sum, { args }) => sum + BigInt(args[1]!), 0n)
    : undefined;

/**
 * Summarizes an intent in one sentence. A single recipient or contract is named. If there are
 * several, their number is given.
 */
export function sayIntent(intent: Intent, chains: readonly Chain[], say: Say): Sentence {
  const token = findToken(intent, chains, intent.token);
  const amountOf = (amount: string) => sayAmount(amount, token, say);
  const [first, second] = intent.calls;
  const sent = sumTransfers(intent, chains);
  if (sent !== undefined) {
    const amount = amountOf(`${sent}`);
    const recipients = new Set(intent.calls.map(({ args }) => args[0]!.toLowerCase())).size;
    return recipients === 1
      ? { as: "sumTransfer", values: { amount, party: { address: first!.args[0]! } } }
      : { as: "sumTransfers", values: { amount, n: `${recipients}` } };
  }
  if (intent.calls.length === 1)
    return { as: "sumOneCall", values: { party: { address: first!.target } } };
  const approval = first && approvalOf(first);
  const approved = token && approval && isSame(approval.token, intent.token) ? approval : undefined;
  const collected = second && intent.calls.length === 2 ? collectionOf(second) : undefined;
  if (collected && approved && isSame(collected.token, intent.token)) {
    const { least, most, recipient } = collected;
    const values = { least: amountOf(`${least}`), most: amountOf(`${most}`) };
    return { as: "sumCollect", values: { ...values, party: { address: recipient } } };
  }
  if (approved && second && intent.calls.length === 2 && isSame(approved.spender, second.target)) {
    const party = { address: second.target };
    return approved.isUnlimited
      ? { as: "sumCallAny", values: { party } }
      : { as: "sumCall", values: { party, amount: amountOf(`${approved.amount}`) } };
  }
  const calls = `${intent.calls.length}`;
  const contracts = new Set(intent.calls.map(({ target }) => target.toLowerCase())).size;
  return contracts === 1
    ? { as: "sumCallsOne", values: { calls, party: { address: first!.target } } }
    : { as: "sumCalls", values: { calls, contracts: `${contracts}` } };
}
