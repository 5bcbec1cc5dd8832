// Finds the hazards in an intent, so that a payer sees them before paying.

import { approvalOf, findCautions, type Intent } from "executable-address";
import { hasHidden } from "executable-address/payment";
import { isSame } from "executable-address/status";

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

/** Returns whether the hazard is serious enough to hide the payment options. */
export const coversPayment = ({ tone, title }: Hazard): boolean =>
  tone === "bad" || title === "hazardToken";

/** @param isListed whether the server lists the intent's token */
export function findHazards(intent: Intent, isListed: boolean): Hazard[] {
  const found: Hazard[] = isListed ? [] : [{ tone: "warn", title: "hazardToken" }];
  const ofCalls = intent.calls.flatMap((_, index) => hazardsOfCall(index, intent));
  return [...found, ...misleadingNames(intent), ...ofCalls];
}

/**
 * Finds misleading names in the intent's calls. The service rejects new intents with misleading
 * names. But anyone can derive an address without the service, so pages check the names too.
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
  const approval = approvalOf(call);
  if (approval?.isUsable) {
    const { kind, token, amount, isUnlimited } = approval;
    if (isUnlimited)
      found.push({
        tone: "bad",
        title: kind === "collection" ? "hazardCollection" : "hazardUnlimited",
        ...at,
      });
    else if (isSame(token, intent.token) && amount > BigInt(intent.amount))
      found.push({ tone: "warn", title: "hazardMore", ...at });
  }
  if (call.args.some(hasHidden)) {
    found.push({ tone: "warn", title: "hazardHidden", ...at });
  }
  return found;
}
