// The page with the webhook endpoints and the number of confirmations before an event is sent.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import type { Depth, Webhooks } from "../api.ts";
import { Heading } from "../heading.tsx";
import { Field } from "../parts/field.tsx";
import { SecretDialog } from "../parts/secret-dialog.tsx";
import { Time } from "../parts/time.tsx";
import { ToEntry, UrlEntry } from "../parts/url-entry.tsx";
import { QueryState } from "../query-state.tsx";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";
import { webhooks } from "./api.ts";
import { EndpointCard } from "./endpoint.tsx";
import { useChange } from "./use-change.ts";

const key = ["webhooks"];

/** Lists the endpoints with their deliveries and responses. */
export function WebhooksPage() {
  const { say } = useSpeech();
  const found = useQuery({
    ...{ queryKey: key, queryFn: webhooks.list },
    // The server may disable an endpoint while the page is open.
    refetchInterval: 5_000,
  });
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <Heading title={say("webhooks")}>{say("webhooksText")}</Heading>
      <QueryState query={found} lines={4} inCard />
      {found.data && (
        <div className="space-y-6">
          <AddEndpoint list={found.data} onSecret={setSecret} />
          {found.data.endpoints.length === 0 && (
            <div className="card">
              <Empty
                icon="out"
                title={say("noEndpoint")}
                action={<ToEntry name="url">{say("addAnEndpoint")}</ToEntry>}
              >
                <Said as="noEndpointText" path={<code>GET /v1/events</code>} />
              </Empty>
            </div>
          )}
          {found.data.endpoints.map((endpoint) => (
            <EndpointCard key={endpoint.id} endpoint={endpoint} onSecret={setSecret} />
          ))}
          <Depths chains={found.data.chains} />
          <div className="text-sm text-soft">
            <Said as="serviceKey" version={<code>v1a</code>} />
            {found.data.publicKeys.map(({ publicKey, until }) => (
              <p key={publicKey}>
                <code className="break-all">{publicKey}</code>
                {until && (
                  <>
                    {" "}
                    <Said as="signsUntil" when={<Time at={until} />} />
                  </>
                )}
              </p>
            ))}
          </div>
        </div>
      )}
      <SecretDialog
        title={say("endpointSecret")}
        secret={secret}
        what={say("theSecret")}
        testId="new-endpoint-secret"
        says={say("secretSays")}
        onDone={() => setSecret(undefined)}
      />
    </>
  );
}

type AddProps = { list: Webhooks; onSecret: (secret: string) => void };

function AddEndpoint({ list, onSecret }: AddProps) {
  const { say } = useSpeech();
  const [url, setUrl] = useState("");
  const [types, setTypes] = useState<string[]>([]);
  const client = useQueryClient();
  const addition = useMutation({ mutationFn: webhooks.add });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    addition.mutate(
      { url: url.trim(), types },
      {
        onSuccess: ({ secret }) => {
          setUrl("");
          setTypes([]);
          onSecret(secret);
          void client.invalidateQueries({ queryKey: key });
        },
      },
    );
  };
  const turn = (type: string, isOn: boolean) =>
    setTypes(isOn ? [...types, type] : types.filter((each) => each !== type));

  return (
    <form onSubmit={submit} className="card p-5" aria-label={say("addAnEndpoint")}>
      <UrlEntry
        label="URL"
        name="url"
        value={url}
        onType={setUrl}
        placeholder="https://shop.example.com/webhooks"
        error={addition.isError ? sayProblem(addition.error, say) : undefined}
        hint={say("endpointHint", { n: list.endpoints.length, max: list.max })}
        action={say("addEndpoint")}
        busy={addition.isPending}
      />
      <fieldset className="mt-4">
        <legend className="text-sm text-soft">{say("eventsHint")}</legend>
        <div className="mt-2 flex flex-wrap gap-x-5 gap-y-2">
          {list.types.map((type) => (
            <label key={type} className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={types.includes(type)}
                onChange={(event) => turn(type, event.target.checked)}
              />
              <code>{type}</code>
            </label>
          ))}
        </div>
      </fieldset>
    </form>
  );
}

/** Sets, for each chain, how many confirmations a block needs before its events are sent. */
function Depths({ chains }: { chains: readonly Depth[] }) {
  const { say } = useSpeech();
  return (
    <section aria-label={say("confirmations")} className="card space-y-4 p-5">
      <h2 className="text-base">{say("confirmations")}</h2>
      <p className="text-sm text-soft">
        <Said as="confirmationsText" event={<code>address.reverted</code>} />
      </p>
      {chains.map((chain) => (
        <DepthEntry key={chain.chainId} chain={chain} />
      ))}
    </section>
  );
}

function DepthEntry({ chain: { chainId, name, byDefault, chosen } }: { chain: Depth }) {
  const { say } = useSpeech();
  const [text, setText] = useState(String(chosen ?? ""));
  const change = useChange(webhooks.setDepth);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const confirmations = text === "" ? null : Number(text);
    const said = say("confirmationsSet", { chain: name, n: confirmations ?? byDefault });
    change.mutate({ chainId, confirmations }, { onSuccess: () => toast(said) });
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-start gap-3">
      <Field
        label={name}
        type="number"
        min="0"
        max="100"
        placeholder={String(byDefault)}
        hint={say("depthHint", { n: byDefault })}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" busy={change.isPending} className="sm:mt-7">
        {say("save")}
      </Button>
    </form>
  );
}
