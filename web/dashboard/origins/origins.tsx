// The page with the origins that may use the client ID. Only the server decides which origins are
// permitted.

import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { api, type EntryVerdict, type Origins } from "../api.ts";
import { Heading } from "../heading.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { ToEntry, UrlEntry } from "../parts/url-entry.tsx";
import { useOriginChange, useOrigins, useVerdict } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";

export function OriginsPage() {
  const { say } = useSpeech();
  const origins = useOrigins();
  return (
    <>
      <Heading title={say("origins")}>{say("originsText")}</Heading>
      <QueryState query={origins} lines={4} inCard />
      {origins.data && (
        <div className="space-y-6">
          <AddOrigin list={origins.data} />
          <AllowedOrigins list={origins.data} />
          <TryOrigin />
        </div>
      )}
    </>
  );
}

function AllowedOrigins({ list }: { list: Origins }) {
  const { say } = useSpeech();
  const removal = useOriginChange(api.removeOrigin);
  const [leaving, setLeaving] = useState<string>();
  const remove = (origin: string) =>
    removal.mutate(origin, {
      onSuccess: () => toast(say("removed", { what: origin })),
      onError: (error) => toast(sayProblem(error, say)),
      onSettled: () => setLeaving(undefined),
    });
  return (
    <section aria-labelledby="allowed" className="card">
      <div className="flex items-baseline justify-between gap-3 border-b border-line p-5">
        <h2 id="allowed">{say("allowed")}</h2>
        <p className="text-sm text-soft tabular-nums">
          {say("nOfMax", { n: list.origins.length, max: list.max })}
        </p>
      </div>
      {list.origins.length === 0 ? (
        <Empty
          icon="globe"
          title={say("noOrigin")}
          action={<ToEntry name="origin">{say("addAnOrigin")}</ToEntry>}
        >
          {say("noOriginText")}
        </Empty>
      ) : (
        <OriginTable
          origins={list.origins}
          removing={removal.isPending ? removal.variables : undefined}
          onRemove={setLeaving}
        />
      )}
      <Confirm
        title={say("removeOriginAsk")}
        action={say("removeIt")}
        open={leaving !== undefined}
        busy={removal.isPending}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => leaving && remove(leaving)}
      >
        <p>
          <Said as="removeOriginText" origin={<code className="break-all">{leaving}</code>} />
        </p>
      </Confirm>
    </section>
  );
}

type OriginTableProps = {
  origins: Origins["origins"];
  /** The origin that is currently being removed. */
  removing: string | undefined;
  onRemove: (origin: string) => void;
};

function OriginTable({ origins, removing, onRemove }: OriginTableProps) {
  const { say } = useSpeech();
  return (
    <Table
      caption={say("allowedOrigins")}
      rows={origins}
      keyOf={({ origin }) => origin}
      columns={[
        {
          head: say("origin"),
          cell: ({ origin }) => <code className="break-all">{origin}</code>,
        },
        { head: say("added"), cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          head: "",
          cell: ({ origin }) => (
            <Button
              look="bare"
              small
              className="ms-auto"
              aria-label={say("removeWhat", { what: origin })}
              busy={removing === origin}
              onClick={() => onRemove(origin)}
            >
              <Icon name="cross" size={16} />
              {say("remove")}
            </Button>
          ),
        },
      ]}
    />
  );
}

/** Asks the server whether an origin is allowed. */
function TryOrigin() {
  const { say } = useSpeech();
  const [origin, setOrigin] = useState("");
  const judged = useVerdict("origin", origin, api.judgeOrigin)?.origin;
  return (
    <section aria-labelledby="try" className="card p-5">
      <h2 id="try" className="mb-3">
        {say("testOrigin")}
      </h2>
      <Field
        label={say("originSent")}
        value={origin}
        onChange={(event) => setOrigin(event.target.value)}
        placeholder="https://shop.example.com"
        dir="ltr"
        inputMode="url"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <div aria-live="polite">
        {judged && (
          <p className={`mt-4 flex gap-2 ${judged.ok ? "text-accent" : "text-danger"}`}>
            <Icon name={judged.ok ? "check" : "cross"} />
            <span className="min-w-0 break-words">
              {judged.ok ? (
                <Said as="allowedBy" entry={<code>{judged.allowedBy}</code>} />
              ) : (
                judged.message
              )}
            </span>
          </p>
        )}
      </div>
    </section>
  );
}

/**
 * A form that adds an origin. The server checks the origin while the user types. The page therefore
 * needs no copy of the server's rules.
 */
function AddOrigin({ list }: { list: Origins }) {
  const { say } = useSpeech();
  const [entry, setEntry] = useState("");
  const judged = useVerdict("entry", entry, api.judgeEntry)?.entry;
  const addition = useOriginChange(api.addOrigin);
  const full = list.origins.length >= list.max;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    addition.mutate(entry.trim(), {
      onSuccess: () => {
        toast(say("event_origin_added"));
        setEntry("");
      },
    });
  };
  const type = (text: string) => {
    setEntry(text);
    addition.reset();
  };

  return (
    <form onSubmit={submit} className="card p-5" aria-label={say("addAnOrigin")}>
      <UrlEntry
        label={say("origin")}
        name="origin"
        value={entry}
        onType={type}
        placeholder="https://app.example.com"
        error={addition.isError ? sayProblem(addition.error, say) : undefined}
        hint={full ? say("originsFull", { max: list.max }) : say("originHint")}
        action={say("addOrigin")}
        busy={addition.isPending}
      />
      <div aria-live="polite">{judged && <Verdict verdict={judged} />}</div>
    </form>
  );
}

function Verdict({ verdict }: { verdict: EntryVerdict }) {
  const { say } = useSpeech();
  if (!verdict.ok) {
    return (
      <p className="mt-4 flex gap-2 text-danger">
        <Icon name="cross" />
        <span>{verdict.message}</span>
      </p>
    );
  }
  return (
    <div className="mt-4 rounded-lg bg-sunken p-4">
      <p className="flex flex-wrap items-center gap-2">
        <span className="text-accent">
          <Icon name="check" />
        </span>
        <span>
          <Said as="savedAs" origin={<code className="break-all">{verdict.canonical}</code>} />
        </span>
      </p>
      <div className="mt-3 grid gap-4 sm:grid-cols-2">
        <Examples title={say("allows")} origins={verdict.matches} />
        <Examples title={say("allowsNot")} origins={verdict.matchesNot} />
      </div>
    </div>
  );
}

function Examples({ title, origins }: { title: string; origins: string[] }) {
  return (
    <div>
      <p className="text-sm font-medium text-soft">{title}</p>
      <ul>
        {origins.map((origin) => (
          <li key={origin}>
            <code className="break-all">{origin}</code>
          </li>
        ))}
      </ul>
    </div>
  );
}
