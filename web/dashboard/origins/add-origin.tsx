import { type FormEvent, useState } from "react";
import { Icon } from "../../ui/icon.tsx";
import { toast } from "../../ui/toast.tsx";
import { api, type EntryVerdict, type Origins } from "../api.ts";
import { UrlEntry } from "../parts/url-entry.tsx";
import { useOriginChange, useVerdict } from "../queries.ts";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";

/** Requests the server's verdict while the user types, so that the rules exist only there. */
export function AddOrigin({ list }: { list: Origins }) {
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
          <Said as="keptAs" origin={<code className="break-all">{verdict.canonical}</code>} />
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
