// The card of a webhook endpoint: its condition, deliveries, replays, and secret.

import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Badge, Notice } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import { sayChain } from "../money.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { useConfig } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { Said, useSpeech } from "../words/speech.ts";
import { sayMany } from "../words/words.ts";
import { type Delivery, type Endpoint, webhooks } from "./api.ts";
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

/**
 * Shows whether the endpoint is disabled or failing. Also shows whether the previous secret is
 * still used in addition to the new one.
 */
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

/** Lists the deliveries to an endpoint and its responses, newest first. */
function Deliveries({ endpointId }: { endpointId: string }) {
  const { say } = useSpeech();
  const found = useQuery({
    queryKey: ["webhooks", endpointId, "deliveries"],
    queryFn: () => webhooks.deliveries(endpointId),
    refetchInterval: 3_000,
  });
  const replay = useChange(webhooks.replay);
  if (!found.isSuccess) return <QueryState query={found} lines={2} />;
  return (
    <>
      <ReplaySpan endpointId={endpointId} />
      {found.data.items.length === 0 && <p className="text-soft">{say("noDeliveries")}</p>}
      {found.data.items.length > 0 && (
        <Table
          caption={say("deliveries")}
          rows={found.data.items}
          keyOf={({ id }) => id}
          columns={[
            { head: say("event"), cell: (delivery) => <EventType delivery={delivery} /> },
            { head: say("state"), cell: (delivery) => <State delivery={delivery} /> },
            { head: say("when"), cell: ({ createdAt }) => <Time at={createdAt} /> },
            { head: say("lastAnswer"), cell: (delivery) => <LastAnswer delivery={delivery} /> },
            {
              head: "",
              cell: ({ eventId, type }) =>
                type === "webhook.test" ? null : (
                  <Button
                    look="bare"
                    small
                    className="ms-auto"
                    onClick={() => replay.mutate({ id: endpointId, eventId })}
                  >
                    {say("replay")}
                  </Button>
                ),
            },
          ]}
        />
      )}
    </>
  );
}

/** Sends the events of a time range to the endpoint again. */
function ReplaySpan({ endpointId }: { endpointId: string }) {
  const { say } = useSpeech();
  const [span, setSpan] = useState({ from: "", until: "" });
  const replay = useChange(webhooks.replay);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const [from, until] = [span.from, span.until].map((local) => new Date(local).toISOString());
    replay.mutate(
      { id: endpointId, from: from!, until: until! },
      {
        onSuccess({ replayed, next }) {
          toast(sayMany(say, "eventsSent", replayed));
          // If the server replayed only a part of the range, the form shows the remaining part. The
          // user can replay this part next.
          if (next) setSpan({ ...span, from: toLocalTime(next) });
        },
      },
    );
  };
  const bound = (name: "from" | "until", label: string) => (
    <Field
      label={label}
      type="datetime-local"
      step="1"
      required
      value={span[name]}
      onChange={(event) => setSpan({ ...span, [name]: event.target.value })}
    />
  );
  return (
    <form
      onSubmit={submit}
      className="flex flex-wrap items-end gap-3"
      aria-label={say("replaySpan")}
    >
      {bound("from", say("from"))}
      {bound("until", say("until"))}
      <Button small type="submit" busy={replay.isPending}>
        {say("replayThisSpan")}
      </Button>
    </form>
  );
}

/** Formats a time for a datetime-local input, in the user's time zone. */
function toLocalTime(iso: string): string {
  const at = new Date(iso);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/**
 * Shows the event's type. If the event occurred on another chain than the intent's, also shows the
 * chain's name.
 */
function EventType({ delivery: { type, otherChainId } }: { delivery: Delivery }) {
  const { say } = useSpeech();
  const chains = useConfig().data?.chains;
  return (
    <>
      <code>{type}</code>
      {otherChainId && chains && (
        <span className="ms-2 text-soft">{sayChain({ chainId: otherChainId }, chains, say)}</span>
      )}
    </>
  );
}

function State({ delivery: { state, dueAt, attempts } }: { delivery: Delivery }) {
  const { say } = useSpeech();
  if (state === "waiting" && dueAt && attempts.length > 0) {
    return (
      <span>
        <Said as="againWhen" when={<Time at={dueAt} />} />
      </span>
    );
  }
  const tone = state === "delivered" ? "good" : state === "failed" ? "bad" : "plain";
  return <Badge tone={tone}>{say(state)}</Badge>;
}

function LastAnswer({ delivery: { attempts } }: { delivery: Delivery }) {
  const { say } = useSpeech();
  const last = attempts.at(-1);
  if (!last) return <span className="text-soft">{say("noneYet")}</span>;
  return (
    <details>
      <summary>
        {say("answerAfter", {
          status: last.status ?? say("none"),
          ms: last.latencyMs,
          n: attempts.length,
        })}
      </summary>
      <pre className="mt-2 max-h-40 overflow-auto whitespace-pre-wrap break-all text-sm">
        {last.answer || say("emptyBody")}
      </pre>
    </details>
  );
}
