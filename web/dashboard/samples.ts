// The examples people paste: complete, for this server, this chain and this account.

import type { Sample } from "../ui/snippet.tsx";
import type { Chain, Token } from "./api.ts";

export type SampleInput = {
  apiBase: string;
  chain: Chain;
  token: Token;
  /** Where the example pays to, and where money that cannot be used goes back to. */
  wallet: string;
  clientId: string | undefined;
  /** The key itself while it is on the screen; afterwards the shell's variable. */
  apiKey?: string;
  nowSeconds: number;
};

const daySeconds = 86_400;

/** One whole token, paid on to `wallet`, within a day. */
const exampleIntent = ({ chain, token, wallet, nowSeconds }: SampleInput) => {
  const amount = (10n ** BigInt(token.decimals)).toString();
  return {
    chainId: chain.chainId,
    token: token.address,
    amount,
    calls: [
      {
        target: token.address,
        function: "transfer(address to, uint256 amount)",
        args: [wallet, amount],
      },
    ],
    expirationTimestamp: nowSeconds + daySeconds,
    recovery: wallet,
  };
};

/** JSON over several lines, but a list of plain strings on one. */
const toText = (value: object) =>
  JSON.stringify(value, null, 2).replace(/\[\s+("[^"]*"),\s+("[^"]*")\s+\]/g, "[$1, $2]");

export function samplesFor(input: SampleInput): Sample[] {
  const body = toText(exampleIntent(input));
  const url = `${input.apiBase}/address/create`;
  return [
    {
      name: "curl",
      text: `curl ${url} \\
  -H "Authorization: Bearer ${input.apiKey ?? "$API_KEY"}" \\
  -H "Content-Type: application/json" \\
  -d '${body.replaceAll("\n", "\n  ")}'`,
    },
    {
      name: "fetch",
      text: `const answer = await fetch("${url}", {
  method: "POST",
  headers: {
    "Content-Type": "application/json",
    "X-Client-Id": "${input.clientId ?? "svc_client_…"}",
  },
  body: JSON.stringify(${body.replaceAll("\n", "\n  ").replace(/"(\w+)":/g, "$1:")}),
});
const { address } = await answer.json();`,
    },
  ];
}
