import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Badge, Notice } from "../../ui/notice.tsx";
import { Failed, Loading } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { Confirm } from "../confirm.tsx";
import { sayProblem } from "../problems.ts";
import { type Delivery, type Endpoint, webhooks } from "./api.ts";

type EndpointProps = { endpoint: Endpoint; onSecret: (secret: string) => void };

/** Runs a change of an endpoint, then shows what is there now. */
function useChange<Input, Answer>(change: (input: Input) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onError: (error) => toast(sayProblem(error)),
    onSettled: () => client.invalidateQueries({ queryKey: ["webhooks"] }),
  });
}

export function EndpointCard({ endpoint, onSecret }: EndpointProps) {
  const { id, url, types, state, reason, failingSince, oldSecretUntil } = endpoint;
  const [asking, setAsking] = useState(false);
  const [shown, setShown] = useState(false);
  const rotation = useChange(webhooks.rotate);
  const pause = useChange(webhooks.pause);
  const test = useChange(webhooks.test);
  const removal = useChange(webhooks.remove);
  const isOn = state === "active";
  const rotate = () =>
    rotation.mutate(id, {
      onSuccess: ({ secret }) => onSecret(secret),
      onSettled: () => setAsking(false),
    });

  return (
    <section aria-label={url} className="card">
      <div className="flex flex-wrap items-start justify-between gap-3 p-5">
        <div className="min-w-0">
          <h2 className="break-all text-base">{url}</h2>
          <p className="mt-1 text-sm text-soft">
            {types.length === 0 ? "all events" : types.join(", ")}
          </p>
        </div>
        <Badge tone={isOn ? "good" : state === "disabled" ? "bad" : "plain"}>{state}</Badge>
      </div>
      <div className="space-y-4 border-t border-line p-5">
        {state === "disabled" && (
          <Notice tone="bad" title={`Disabled: ${reason}`}>
            Nothing is sent to it. Resume it when it works again, then replay what it missed.
          </Notice>
        )}
        {isOn && failingSince && (
          <Notice tone="bad" title="It does not take what it is sent">
            <p>
              Since <Time at={failingSince} />. After 3 days it is disabled.
            </p>
          </Notice>
        )}
        {oldSecretUntil && new Date(oldSecretUntil).getTime() > Date.now() && (
          <p className="text-sm text-soft">
            The old secret signs too, until <Time at={oldSecretUntil} />.
          </p>
        )}
        <div className="flex flex-wrap gap-2">
          <Button small onClick={() => setShown(!shown)} aria-expanded={shown}>
            Deliveries
          </Button>
          <Button
            small
            disabled={!isOn}
            busy={test.isPending}
            onClick={() => test.mutate(id, { onSuccess: () => setShown(true) })}
          >
            Send a test
          </Button>
          <Button small busy={pause.isPending} onClick={() => pause.mutate({ id, paused: isOn })}>
            {isOn ? "Pause" : "Resume"}
          </Button>
          <Button small onClick={() => setAsking(true)}>
            Rotate secret
          </Button>
          <Button small look="danger" busy={removal.isPending} onClick={() => removal.mutate(id)}>
            Delete
          </Button>
        </div>
        {shown && <Deliveries endpointId={id} />}
      </div>
      <Confirm
        action="Rotate now"
        title="Rotate the secret?"
        open={asking}
        busy={rotation.isPending}
        onClose={() => setAsking(false)}
        onConfirm={rotate}
      >
        <p>For 24 hours both secrets sign, so that your server can change over.</p>
      </Confirm>
    </section>
  );
}

function Deliveries({ endpointId }: { endpointId: string }) {
  const found = useQuery({
    queryKey: ["webhooks", endpointId, "deliveries"],
    queryFn: () => webhooks.deliveries(endpointId),
    refetchInterval: 3_000,
  });
  const replay = useChange(webhooks.replay);
  if (found.isPending) return <Loading lines={2} />;
  if (found.isError) {
    return <Failed message={sayProblem(found.error)} onRetry={() => void found.refetch()} />;
  }
  if (found.data.items.length === 0) return <p className="text-soft">Nothing was sent yet.</p>;
  return (
    <Table
      caption="Deliveries"
      rows={found.data.items}
      keyOf={({ id }) => id}
      columns={[
        { head: "Event", cell: ({ type }) => <code>{type}</code> },
        { head: "State", cell: (delivery) => <State delivery={delivery} /> },
        { head: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { head: "Last answer", cell: (delivery) => <LastAnswer delivery={delivery} /> },
        {
          head: "",
          cell: ({ eventId, type }) =>
            type === "webhook.test" ? null : (
              <Button
                look="bare"
                small
                className="ml-auto"
                onClick={() => replay.mutate({ id: endpointId, eventId })}
              >
                Replay
              </Button>
            ),
        },
      ]}
    />
  );
}

function State({ delivery: { state, dueAt, attempts } }: { delivery: Delivery }) {
  if (state === "waiting" && dueAt && attempts.length > 0) {
    return (
      <span>
        again <Time at={dueAt} />
      </span>
    );
  }
  const tone = state === "delivered" ? "good" : state === "failed" ? "bad" : "plain";
  return <Badge tone={tone}>{state}</Badge>;
}

function LastAnswer({ delivery: { attempts } }: { delivery: Delivery }) {
  const last = attempts.at(-1);
  if (!last) return <span className="text-soft">none yet</span>;
  return (
    <details>
      <summary>
        {last.status ?? "none"} after {last.latencyMs} ms, attempt {attempts.length} of 10
      </summary>
      <pre className="mt-2 max-h-40 overflow-auto whitespace-pre-wrap break-all text-sm">
        {last.answer || "(an empty body)"}
      </pre>
    </details>
  );
}
