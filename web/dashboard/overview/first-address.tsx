import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import { addresses } from "../addresses/api.ts";
import { isWhole } from "../addresses/filter-query.ts";
import type { Config } from "../api.ts";
import { sayProblem } from "../problems.ts";
import { intentOf, samplesFor } from "../samples.ts";

/** No address: what is pasted with it is refused, and so is never paid. */
const placeholder = "YOUR_WALLET";
const walletHint =
  "Receives the money in this example, which can be copied once this is filled in.";
const daySeconds = 86_400;

/** The examples, filled in with what this server and account have. */
export function FirstAddress(props: {
  clientId: string | undefined;
  config: Config;
  apiKey?: string;
}) {
  const [wallet, setWallet] = useState("");
  const [nowSeconds] = useState(() => Math.floor(Date.now() / 1000));
  const { config, apiKey, clientId } = props;
  const chain = config.chains.find(({ tokens }) => tokens.length > 0);
  const token = chain?.tokens[0];
  if (!chain || !token) {
    return (
      <Notice tone="warn" title="No chain is configured">
        The operator of this server has not listed a chain with a token yet.
      </Notice>
    );
  }

  const given = isWhole(wallet.trim());
  const recipient = given ? wallet.trim() : placeholder;
  const intent = intentOf({
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
        label="Your wallet"
        placeholder="0x…"
        value={wallet}
        onChange={(event) => setWallet(event.target.value)}
        spellCheck={false}
        autoComplete="off"
        error={
          wallet.trim() !== "" && !given ? "An address is 0x and 40 hex characters." : undefined
        }
        hint={walletHint}
      />
      <MakeIt intent={intent} given={given} />
      <Snippet samples={samples} label="Examples by language" canCopy={given} />
      <p className="text-sm text-soft">
        One {token.symbol} on {chain.name}, passed on to your wallet. curl is for servers and needs
        the API key in <code>$API_KEY</code>; fetch is for a page of an allowed origin.
      </p>
    </div>
  );
}

/** Makes the address of the example at once, and leads to where its payment is followed. */
function MakeIt({ intent, given }: { intent: object; given: boolean }) {
  const [, navigate] = useLocation();
  const creation = useMutation({
    mutationFn: () => addresses.create(intent),
    onSuccess: ({ address }) => navigate(`/addresses/${address}`),
  });
  return (
    <>
      <Button disabled={!given} busy={creation.isPending} onClick={() => creation.mutate()}>
        Make this address
      </Button>
      {creation.error && (
        <Notice tone="bad" title="It was not made">
          <p>{sayProblem(creation.error)}</p>
        </Notice>
      )}
    </>
  );
}
