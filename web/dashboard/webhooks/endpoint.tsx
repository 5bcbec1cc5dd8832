import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Badge, Notice } from "../../ui/notice.tsx";
import { Time } from "../../ui/time.tsx";
import { Confirm } from "../confirm.tsx";
import { type Endpoint, webhooks } from "./api.ts";
import { Deliveries } from "./deliveries.tsx";
import { useChange } from "./use-change.ts";

type EndpointProps = { endpoint: Endpoint; onSecret: (secret: string) => void };

export function EndpointCard({ endpoint, onSecret }: EndpointProps) {
  const { id, url, types, state } = endpoint;
  const [asking, setAsking] = useState<"rotate" | "delete">();
  const [shown, setShown] = useState(false);
  const rotation = useChange(webhooks.rotate);
  const pause = useChange(webhooks.pause);
  const test = useChange(webhooks.test);
  const removal = useChange(webhooks.remove);
  const isOn = state === "active";
  const rotate = () =>
    rotation.mutate(id, {
      onSuccess: ({ secret }) => onSecret(secret),
      onSettled: () => setAsking(undefined),
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
        <Condition endpoint={endpoint} />
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
          <Button small onClick={() => setAsking("rotate")}>
            Rotate secret
          </Button>
          <Button small look="danger" onClick={() => setAsking("delete")}>
            Delete
          </Button>
        </div>
        {shown && <Deliveries endpointId={id} />}
      </div>
      <Confirm
        action="Rotate now"
        title="Rotate the secret?"
        open={asking === "rotate"}
        busy={rotation.isPending}
        onClose={() => setAsking(undefined)}
        onConfirm={rotate}
      >
        <p>For 24 hours both secrets sign, so that your server can change over.</p>
      </Confirm>
      <Confirm
        action="Delete now"
        title="Delete this endpoint?"
        open={asking === "delete"}
        busy={removal.isPending}
        onClose={() => setAsking(undefined)}
        onConfirm={() => removal.mutate(id, { onSettled: () => setAsking(undefined) })}
      >
        <p>What is waiting to be sent to it goes with it. Its events stay for 30 days.</p>
      </Confirm>
    </section>
  );
}

/** Why nothing is sent or taken, and whether an old secret signs beside the new one. */
function Condition({ endpoint }: { endpoint: Endpoint }) {
  const { state, reason, failingSince, oldSecretUntil } = endpoint;
  return (
    <>
      {state === "disabled" && (
        <Notice tone="bad" title={`Disabled: ${reason}`}>
          Nothing is sent to it. Resume it when it works again, then replay what it missed.
        </Notice>
      )}
      {state === "active" && failingSince && (
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
    </>
  );
}
