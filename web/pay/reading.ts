// What a call does, in plain words, and what in an intent a payer should stop at. Only a listed
// token's own functions are explained: the same name on an unknown contract promises nothing.

import {
  type AddressRecord,
  type Call,
  findCautions,
  type Hex,
  type Intent,
} from "executable-address";
import { formatUnits } from "../ui/amount.ts";
import type { Chain, Token } from "./chains.ts";
import { partsOf, signatureOf } from "./function.ts";
import { hasHidden } from "./inert.ts";

/** From here on an approval is meant to have no limit. */
const unlimitedFrom = 2n ** 255n;
const soonSeconds = 15 * 60;

const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

export function findToken(
  intent: Intent,
  chains: readonly Chain[],
  address: Hex,
): Token | undefined {
  return chains
    .find(({ chainId }) => chainId === intent.chainId)
    ?.tokens.find((token) => isSame(token.address, address));
}

/** "25 USDC" for a listed token; otherwise the bare base units, which cannot mislead. */
export function sayAmount(amount: string, token: Token | undefined): string {
  if (BigInt(amount) >= unlimitedFrom) return "an unlimited amount";
  if (!token) return `${formatUnits(amount, 0)} base units`;
  return `${formatUnits(amount, token.decimals)} ${token.symbol}`;
}

/** Who an address of a call is, where this page can know. */
export function sayParty(
  address: string,
  { address: vault, factory, intent }: AddressRecord,
): string | undefined {
  if (isSame(address, vault)) return "this very address";
  if (isSame(address, intent.recovery)) return "the recovery address";
  if (isSame(address, intent.token)) return "the token";
  if (isSame(address, factory)) return "the factory of executable addresses";
  return undefined;
}

/** One part of a sentence: words, or an address to be shown as one. */
export type Phrase = string | { address: string };

/** A sentence for the functions every token has; undefined for anything else. */
export function sayCall(call: Call, token: Token | undefined): Phrase[] | undefined {
  if (!token) return undefined;
  const [first = "", second = "", third = ""] = call.args;
  switch (signatureOf(partsOf(call.function))) {
    case "transfer(address,uint256)":
      return [`Sends ${sayAmount(second, token)} to `, { address: first }];
    case "approve(address,uint256)":
      if (second === "0")
        return ["Withdraws the permission of ", { address: first }, ` to take ${token.symbol}`];
      return ["Lets ", { address: first }, ` take up to ${sayAmount(second, token)} from here`];
    case "transferFrom(address,address,uint256)":
      return [
        `Moves ${sayAmount(third, token)} from `,
        { address: first },
        " to ",
        { address: second },
      ];
    default:
      return undefined;
  }
}

export type Hazard = { tone: "warn" | "bad"; title: string; text: string };

/** Everything a careful friend would point at before the money leaves. */
export function hazardsOf(intent: Intent, chains: readonly Chain[], nowSeconds: number): Hazard[] {
  const found: Hazard[] = [];
  const leftSeconds = intent.expirationTimestamp - nowSeconds;
  if (leftSeconds < 0) {
    found.push({
      tone: "bad",
      title: "Expired: do not pay",
      text: "The calls can no longer run. Money sent now can only go to the recovery address.",
    });
  } else if (leftSeconds < soonSeconds) {
    found.push({
      tone: "warn",
      title: "Expires within minutes",
      text: "A payment that confirms too late only reaches the recovery address.",
    });
  }
  if (!findToken(intent, chains, intent.token)) {
    found.push({
      tone: "warn",
      title: "Unknown token",
      text: `It is not listed here, so neither its name nor its decimals can be shown.
        Check its address before you pay.`,
    });
  }
  const ofCalls = intent.calls.flatMap((call, index) => hazardsOfCall(call, index, intent));
  return [...found, ...misleadingNames(intent), ...ofCalls];
}

/** What create refuses though it is valid: an address need not be made by a service that asks. */
function misleadingNames(intent: Intent): Hazard[] {
  return findCautions(intent).map(({ path, code, message }) => {
    const which = `Call ${Number(path[1]) + 1}`;
    return code === "selector_clash"
      ? { tone: "bad", title: `${which} is another function than it says`, text: message }
      : { tone: "warn", title: `${which} has a misleading name`, text: message };
  });
}

function hazardsOfCall(call: Call, index: number, intent: Intent): Hazard[] {
  const found: Hazard[] = [];
  const which = `Call ${index + 1}`;
  const signature = signatureOf(partsOf(call.function));
  const amount = approvedAmount(signature, call.args);
  if (amount !== undefined && amount >= unlimitedFrom) {
    found.push({
      tone: "bad",
      title: `${which} gives an unlimited permission`,
      text: "Whoever it is given to can also take whatever reaches this address later.",
    });
  } else if (
    amount !== undefined &&
    isSame(call.target, intent.token) &&
    amount > BigInt(intent.amount)
  ) {
    found.push({
      tone: "warn",
      title: `${which} permits more than is paid`,
      text: "What is left of the permission can be used on money that reaches this address later.",
    });
  }
  if (signature === "setApprovalForAll(address,bool)" && call.args[1] === "true") {
    found.push({
      tone: "bad",
      title: `${which} hands over a whole collection`,
      text: "Whoever it is given to can take every item of that contract from this address.",
    });
  }
  if (call.args.some(hasHidden)) {
    found.push({
      tone: "warn",
      title: `${which} contains characters that would not show`,
      text: `They are written out below, as in U+202E. Such characters can make text read as
        something else.`,
    });
  }
  return found;
}

const approvedAmount = (signature: string, args: readonly string[]): bigint | undefined => {
  const at = {
    "approve(address,uint256)": 1,
    "increaseAllowance(address,uint256)": 1,
    "approve(address,address,uint160,uint48)": 2,
  }[signature];
  if (at === undefined) return undefined;
  const amount = BigInt(args[at] ?? "0");
  // Permit2's allowances are uint160; its largest means no limit.
  return signature.includes("uint160") && amount >= 2n ** 159n ? unlimitedFrom : amount;
};
