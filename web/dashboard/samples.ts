// Complete code examples for this server, chain, and account.

import { type Hex, payWithTolerance } from "executable-address";
import type { Sample } from "./parts/snippet.tsx";

/** A payment that forwards an amount of a token to a receiver. */
export type SimplePayment = {
  chainId: number;
  token: Hex;
  /** In base units. */
  amount: string;
  /**
   * The smallest accepted amount, in base units. Undefined if only the full `amount` is accepted.
   */
  least?: string | undefined;
  receiver: string;
  /** The address that receives late and excess payments. */
  recovery: string;
  expirationTimestamp: number;
};

/** Returns the body of a create request. The body has no salt, so the service chooses one. */
export const makeIntent = ({ chainId, recovery, expirationTimestamp, ...paid }: SimplePayment) => ({
  chainId,
  ...partsOf(paid),
  expirationTimestamp,
  recovery,
});

/**
 * Returns a transfer. If a smaller amount is accepted, returns the calls that forward the received
 * amount.
 */
function partsOf({
  token,
  amount,
  least,
  receiver,
}: Pick<SimplePayment, "token" | "amount" | "least" | "receiver">) {
  if (least) {
    const recipient = receiver as Hex;
    return payWithTolerance({ token, recipient, least: BigInt(least), most: BigInt(amount) });
  }
  const transfer = {
    target: token,
    function: "transfer(address to, uint256 amount)",
    args: [receiver, amount],
  };
  return { token, amount, calls: [transfer] };
}

type SampleInput = {
  apiBase: string;
  intent: ReturnType<typeof makeIntent>;
  clientId: string | undefined;
  /**
   * The API key, if the page is currently showing it. If the page has no key, the example reads the
   * key from a shell variable.
   */
  apiKey?: string;
};

/** Formats JSON with line breaks, except within lists of two strings. */
const toText = (value: object) =>
  JSON.stringify(value, null, 2).replace(/\[\s+("[^"]*"),\s+("[^"]*")\s+\]/g, "[$1, $2]");

export function samplesFor({ apiBase, intent, clientId, apiKey }: SampleInput): Sample[] {
  const body = toText(intent);
  const url = `${apiBase}/address/create`;
  return [
    {
      name: "curl",
      text: `curl ${url} \\
  -H "Authorization: Bearer ${apiKey ?? "$API_KEY"}" \\
  -H "Content-Type: application/json" \\
  -d '${body.replaceAll("\n", "\n  ")}'`,
    },
    {
      name: "fetch",
      text: `const answer = await fetch("${url}", {
  method: "POST",
  headers: {
    "Content-Type": "application/json",
    "X-Client-Id": "${clientId ?? "svc_client_…"}",
  },
  body: JSON.stringify(${body.replaceAll("\n", "\n  ").replace(/"(\w+)":/g, "$1:")}),
});
const { address } = await answer.json();`,
    },
  ];
}
