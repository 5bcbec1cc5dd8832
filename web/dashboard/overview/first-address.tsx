// Shows code examples that create the account's first address.

import { useMutation, useQuery } from "@tanstack/react-query";
import { isAddress } from "executable-address";
import { useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../../ui/button.tsx";
import { Notice } from "../../ui/notice.tsx";
import { addresses } from "../addresses/api.ts";
import type { Config } from "../api.ts";
import { Field } from "../parts/field.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { makeIntent, samplesFor } from "../samples.ts";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";

/**
 * The wallet address in the examples until the user enters an address. The placeholder is invalid,
 * so the server rejects an example that is pasted unchanged.
 */
const placeholder = "YOUR_WALLET";
const daySeconds = 86_400;

/** Shows code examples that contain the values of this server and account. */
export function FirstAddress(props: {
  clientId: string | undefined;
  config: Config;
  apiKey?: string;
}) {
  const { say } = useSpeech();
  const [typed, setTyped] = useState<string>();
  const [nowSeconds] = useState(() => Math.floor(Date.now() / 1000));
  const { config, apiKey, clientId } = props;
  const chain = config.chains.find(({ tokens }) => tokens.length > 0);
  const token = chain?.tokens[0];
  const spare = useSpareAccount(chain?.localNode);
  const wallet = typed ?? spare ?? "";
  if (!chain || !token) {
    return (
      <Notice tone="warn" title={say("noChain")}>
        {say("noChainText")}
      </Notice>
    );
  }

  const given = isAddress(wallet.trim());
  const recipient = given ? wallet.trim() : placeholder;
  const intent = makeIntent({
    chainId: chain.chainId,
    token: token.address,
    amount: (10n ** BigInt(token.decimals)).toString(),
    receiver: recipient,
    recovery: recipient,
    expirationTimestamp: nowSeconds + daySeconds,
  });
  const samples = samplesFor({
    apiBase: config.apiBase,
    intent,
    clientId,
    ...(apiKey && { apiKey }),
  });
  return (
    <div className="space-y-4">
      <Field
        label={say("yourWallet")}
        placeholder="0x…"
        value={wallet}
        onChange={(event) => setTyped(event.target.value)}
        spellCheck={false}
        autoComplete="off"
        error={wallet.trim() !== "" && !given ? say("addressFault") : undefined}
        hint={say(spare ? "spareAccountHint" : "walletHint")}
      />
      <MakeIt intent={intent} given={given} />
      <Snippet samples={samples} label={say("examples")} canCopy={given} />
      <p className="text-sm text-soft">
        <Said
          as="exampleText"
          token={token.symbol}
          chain={chain.name}
          variable={<code>$API_KEY</code>}
        />
      </p>
    </div>
  );
}

/**
 * Lets users try an address on the local chain without a wallet. Dashboards without a local chain
 * do not load this code.
 */
const useSpareAccount = (localNode: string | null | undefined) =>
  useQuery({
    queryKey: ["spare-account", localNode],
    queryFn: async () => (await import("../addresses/local-node.ts")).spareAccount(localNode!),
    enabled: typeof localNode === "string",
    retry: false,
    staleTime: Infinity,
  }).data;

/** Creates the example's address and opens its page. */
function MakeIt({ intent, given }: { intent: object; given: boolean }) {
  const { say } = useSpeech();
  const [, navigate] = useLocation();
  const creation = useMutation({
    mutationFn: () => addresses.create(intent),
    onSuccess: ({ address }) => navigate(`/addresses/${address}`),
  });
  return (
    <>
      <Button
        look="primary"
        disabled={!given}
        busy={creation.isPending}
        onClick={() => creation.mutate()}
      >
        {say("makeThis")}
      </Button>
      {creation.error && (
        <Notice tone="bad" title={say("notMade")}>
          <p>{sayProblem(creation.error, say)}</p>
        </Notice>
      )}
    </>
  );
}
