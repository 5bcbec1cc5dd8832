import { type FormEvent, useState } from "react";
import { Icon } from "../../ui/icon.tsx";
import { toast } from "../../ui/toast.tsx";
import { api, type EntryVerdict, type Origins } from "../api.ts";
import { sayProblem } from "../problems.ts";
import { useOriginChange, useVerdict } from "../queries.ts";
import { UrlEntry } from "../url-entry.tsx";

/** Asks the server for its verdict while one types, so that its rules exist only there. */
export function AddOrigin({ list }: { list: Origins }) {
  const [entry, setEntry] = useState("");
  const judged = useVerdict("entry", entry, api.judgeEntry)?.entry;
  const addition = useOriginChange(api.addOrigin);
  const full = list.origins.length >= list.max;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    addition.mutate(entry.trim(), {
      onSuccess: () => {
        toast("Origin added");
        setEntry("");
      },
    });
  };
  const type = (text: string) => {
    setEntry(text);
    addition.reset();
  };

  return (
    <form onSubmit={submit} className="card p-5" aria-label="Add an origin">
      <UrlEntry
        label="Origin"
        name="origin"
        value={entry}
        onType={type}
        placeholder="https://app.example.com"
        error={addition.isError ? sayProblem(addition.error) : undefined}
        hint={
          full
            ? `The list is full: ${list.max} origins at most. Remove one first.`
            : "As in the address bar, without a path. A wildcard: https://*.example.com"
        }
        action="Add origin"
        busy={addition.isPending}
      />
      <div aria-live="polite">{judged && <Verdict verdict={judged} />}</div>
    </form>
  );
}

function Verdict({ verdict }: { verdict: EntryVerdict }) {
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
        Kept as <code className="break-all">{verdict.canonical}</code>
      </p>
      <div className="mt-3 grid gap-4 sm:grid-cols-2">
        <Examples title="Allows" origins={verdict.matches} />
        <Examples title="Does not allow" origins={verdict.matchesNot} />
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
