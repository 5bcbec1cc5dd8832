import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Badge } from "../../ui/notice.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { QueryState } from "../query-state.tsx";
import { type Delivery, webhooks } from "./api.ts";
import { useChange } from "./use-change.ts";

/** Lists what an endpoint was sent, newest first, and what it answered. */
export function Deliveries({ endpointId }: { endpointId: string }) {
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
      {found.data.items.length === 0 && <p className="text-soft">Nothing was sent yet.</p>}
      {found.data.items.length > 0 && (
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
      )}
    </>
  );
}

/** Sends again what was told in a span of time. */
function ReplaySpan({ endpointId }: { endpointId: string }) {
  const [span, setSpan] = useState({ from: "", until: "" });
  const replay = useChange(webhooks.replay);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const [from, until] = [span.from, span.until].map((local) => new Date(local).toISOString());
    replay.mutate(
      { id: endpointId, from: from!, until: until! },
      {
        onSuccess({ replayed, next }) {
          toast(`${replayed} ${replayed === 1 ? "event is" : "events are"} sent again`);
          // The rest begins there.
          if (next) setSpan({ ...span, from: localOf(next) });
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
    <form onSubmit={submit} className="flex flex-wrap items-end gap-3" aria-label="Replay a span">
      {bound("from", "From")}
      {bound("until", "Until")}
      <Button small type="submit" busy={replay.isPending}>
        Replay this span
      </Button>
    </form>
  );
}

/** Writes a time as an input of the type datetime-local has it, in the reader's time zone. */
function localOf(iso: string): string {
  const at = new Date(iso);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
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
