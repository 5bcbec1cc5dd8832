import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Badge, Notice } from "../../ui/notice.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Time } from "../parts/time.tsx";
import { Said, useSpeech } from "../words/speech.ts";
import { type Endpoint, webhooks } from "./api.ts";
import { Deliveries } from "./deliveries.tsx";
import { useChange } from "./use-change.ts";

type EndpointProps = { endpoint: Endpoint; onSecret: (secret: string) => void };

export function EndpointCard({ endpoint, onSecret }: EndpointProps) {
  const { say } = useSpeech();
  const { id, url, types, state } = endpoint;
  const [asking, setAsking] = useState<"rotate" | "delete">();
  const [shown, setShown] = useState(false);
  const pause = useChange(webhooks.pause);
  const test = useChange(webhooks.test);
  const isOn = state === "active";
  const onClose = () => setAsking(undefined);

  return (
    <section aria-label={url} className="card">
      <div className="flex flex-wrap items-start justify-between gap-3 p-5">
        <div className="min-w-0">
          <h2 className="break-all text-base">{url}</h2>
          <p className="mt-1 text-sm text-soft">
            {types.length === 0 ? say("allEvents") : types.join(", ")}
          </p>
        </div>
        <Badge tone={isOn ? "good" : state === "disabled" ? "bad" : "plain"}>{say(state)}</Badge>
      </div>
      <div className="space-y-4 border-t border-line p-5">
        <Condition endpoint={endpoint} />
        <div className="flex flex-wrap gap-2">
          <Button small onClick={() => setShown(!shown)} aria-expanded={shown}>
            {say("deliveries")}
          </Button>
          <Button
            small
            disabled={!isOn}
            busy={test.isPending}
            onClick={() => test.mutate(id, { onSuccess: () => setShown(true) })}
          >
            {say("sendTest")}
          </Button>
          <Button small busy={pause.isPending} onClick={() => pause.mutate({ id, paused: isOn })}>
            {say(isOn ? "pause" : "resume")}
          </Button>
          <Button small onClick={() => setAsking("rotate")}>
            {say("rotateSecret")}
          </Button>
          <Button small look="danger" onClick={() => setAsking("delete")}>
            {say("delete")}
          </Button>
        </div>
        {shown && <Deliveries endpointId={id} />}
      </div>
      <ConfirmRotation open={asking === "rotate"} {...{ id, onSecret, onClose }} />
      <ConfirmDeletion open={asking === "delete"} {...{ id, onClose }} />
    </section>
  );
}

type ConfirmProps = { id: string; open: boolean; onClose: () => void };
type RotationProps = ConfirmProps & Pick<EndpointProps, "onSecret">;

function ConfirmRotation({ id, open, onClose, onSecret }: RotationProps) {
  const { say } = useSpeech();
  const { mutate, isPending } = useChange(webhooks.rotate);
  const onSuccess = ({ secret }: { secret: string }) => onSecret(secret);
  return (
    <Confirm
      action={say("rotateNow")}
      title={say("rotateSecretAsk")}
      open={open}
      busy={isPending}
      onClose={onClose}
      onConfirm={() => mutate(id, { onSuccess, onSettled: onClose })}
    >
      <p>{say("rotateSecretText")}</p>
    </Confirm>
  );
}

function ConfirmDeletion({ id, open, onClose }: ConfirmProps) {
  const { say } = useSpeech();
  const { mutate, isPending } = useChange(webhooks.remove);
  return (
    <Confirm
      action={say("deleteNow")}
      title={say("deleteEndpointAsk")}
      open={open}
      busy={isPending}
      onClose={onClose}
      onConfirm={() => mutate(id, { onSettled: onClose })}
    >
      <p>{say("deleteEndpointText")}</p>
    </Confirm>
  );
}

/** Explains why nothing is sent or accepted, and whether an old secret also signs. */
function Condition({ endpoint }: { endpoint: Endpoint }) {
  const { say } = useSpeech();
  const { state, reason, failingSince, oldSecretUntil } = endpoint;
  return (
    <>
      {state === "disabled" && (
        <Notice tone="bad" title={say("disabledReason", { reason: reason ?? "" })}>
          {say("disabledText")}
        </Notice>
      )}
      {state === "active" && failingSince && (
        <Notice tone="bad" title={say("failing")}>
          <p>
            <Said as="failingText" when={<Time at={failingSince} />} />
          </p>
        </Notice>
      )}
      {oldSecretUntil && new Date(oldSecretUntil).getTime() > Date.now() && (
        <p className="text-sm text-soft">
          <Said as="oldSecret" when={<Time at={oldSecretUntil} />} />
        </p>
      )}
    </>
  );
}
