// Finds the hazards of an intent that a payer should see before paying.

import { collectorAddress, findCautions, type Intent } from "executable-address";
import { hasHidden } from "executable-address/payment";
import { isSame } from "executable-address/status";
import { splitFunction, writeSignature } from "./function.ts";

/** `title` is a key of the element's texts. `call` is the number of the call, starting at 1. */
export type Hazard = {
  tone: "warn" | "bad";
  title:
    | "hazardToken"
    | "hazardUnlimited"
    | "hazardMore"
    | "hazardCollection"
    | "hazardClash"
    | "hazardName"
    | "hazardHidden";
  call?: number;
};

/**
 * Returns whether the page must hide the payment options behind a button, so that the payer sees
 * the hazard first.
 */
export const coversPayment = ({ tone, title }: Hazard): boolean =>
  tone === "bad" || title === "hazardToken";

/** An approval of this amount or more counts as unlimited. */
export const unlimitedFrom = 2n ** 255n;

/** @param isListed whether the server lists the intent's token */
export function findHazards(intent: Intent, isListed: boolean): Hazard[] {
  const found: Hazard[] = isListed ? [] : [{ tone: "warn", title: "hazardToken" }];
  const ofCalls = intent.calls.flatMap((_, index) => hazardsOfCall(index, intent));
  return [...found, ...misleadingNames(intent), ...ofCalls];
}

/**
 * Finds misleading names. The service rejects new intents with such names, but anyone can derive
 * the address of such an intent without the service.
 */
function misleadingNames(intent: Intent): Hazard[] {
  return findCautions(intent).map(({ path, code }) => {
    const call = Number(path[1]) + 1;
    return code === "selector_clash"
      ? { tone: "bad", title: "hazardClash", call }
      : { tone: "warn", title: "hazardName", call };
  });
}

function hazardsOfCall(index: number, intent: Intent): Hazard[] {
  const call = intent.calls[index]!;
  const found: Hazard[] = [];
  const at = { call: index + 1 };
  const signature = writeSignature(splitFunction(call.function));
  const amount = approvedAmount(signature, call.args);
  if (amount !== undefined && amount >= unlimitedFrom) {
    found.push({ tone: "bad", title: "hazardUnlimited", ...at });
  } else if (
    amount !== undefined &&
    isSame(call.target, intent.token) &&
    amount > BigInt(intent.amount)
  ) {
    found.push({ tone: "warn", title: "hazardMore", ...at });
  }
  if (signature === "setApprovalForAll(address,bool)" && call.args[1] === "true") {
    found.push({ tone: "bad", title: "hazardCollection", ...at });
  }
  if (call.args.some(hasHidden)) {
    found.push({ tone: "warn", title: "hazardHidden", ...at });
  }
  return found;
}

const approvedAmount = (signature: string, args: readonly string[]): bigint | undefined => {
  // The Collector moves only its caller's tokens, so no other account can use an allowance that the
  // calls leave.
  if (isSame(args[0] ?? "", collectorAddress)) return undefined;
  const at = {
    "approve(address,uint256)": 1,
    "increaseAllowance(address,uint256)": 1,
    "approve(address,address,uint160,uint48)": 2,
  }[signature];
  if (at === undefined) return undefined;
  const amount = BigInt(args[at] ?? "0");
  // Permit2's allowances are uint160, and the maximum means unlimited.
  return signature.includes("uint160") && amount >= 2n ** 159n ? unlimitedFrom : amount;
};
