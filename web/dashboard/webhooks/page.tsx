import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Empty } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { Heading } from "../heading.tsx";
import { sayProblem } from "../problems.ts";
import { QueryState } from "../query-state.tsx";
import { SecretDialog } from "../secret-dialog.tsx";
import { UrlEntry } from "../url-entry.tsx";
import { type Webhooks, webhooks } from "./api.ts";
import { Depths } from "./depths.tsx";
import { EndpointCard } from "./endpoint.tsx";

const key = ["webhooks"];

/** Shows where events go: endpoints, what each was sent, and what it answered. */
export function WebhooksPage() {
  const found = useQuery({
    ...{ queryKey: key, queryFn: webhooks.list },
    // An endpoint may be disabled while somebody looks.
    refetchInterval: 5_000,
  });
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <Heading title="Webhooks">
        What happens to your addresses, sent to your servers as it happens, signed.
      </Heading>
      <QueryState query={found} lines={4} inCard />
      {found.data && (
        <div className="space-y-6">
          <AddEndpoint list={found.data} onSecret={setSecret} />
          {found.data.endpoints.length === 0 && (
            <div className="card">
              <Empty icon="out" title="No endpoint yet">
                Add the URL on your server that takes the events. What was missed stays in
                <code> GET /v1/events</code> for 30 days.
              </Empty>
            </div>
          )}
          {found.data.endpoints.map((endpoint) => (
            <EndpointCard key={endpoint.id} endpoint={endpoint} onSecret={setSecret} />
          ))}
          <Depths chains={found.data.chains} />
          <div className="text-sm text-soft">
            The service's own key, with which anybody checks <code>v1a</code>:
            {found.data.publicKeys.map(({ publicKey, until }) => (
              <p key={publicKey}>
                <code className="break-all">{publicKey}</code>
                {until && (
                  <>
                    {" "}
                    signs beside it until <Time at={until} />
                  </>
                )}
              </p>
            ))}
          </div>
        </div>
      )}
      <SecretDialog
        title="The endpoint's secret"
        secret={secret}
        what="the secret"
        testId="new-endpoint-secret"
        says="It is shown once. Your server checks each delivery's signature with it."
        onDone={() => setSecret(undefined)}
      />
    </>
  );
}

type AddProps = { list: Webhooks; onSecret: (secret: string) => void };

function AddEndpoint({ list, onSecret }: AddProps) {
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
    <form onSubmit={submit} className="card p-5" aria-label="Add an endpoint">
      <UrlEntry
        label="URL"
        name="url"
        value={url}
        onType={setUrl}
        placeholder="https://shop.example.com/webhooks"
        error={addition.isError ? sayProblem(addition.error) : undefined}
        hint={`https, on the public Internet; ${list.endpoints.length} of ${list.max} in use`}
        action="Add endpoint"
        busy={addition.isPending}
      />
      <fieldset className="mt-4">
        <legend className="text-sm text-soft">Events; none chosen means all</legend>
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
