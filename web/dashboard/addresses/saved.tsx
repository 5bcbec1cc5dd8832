// Filters of the list that this browser keeps by name, for each account its own.

import { recall, remember } from "executable-address-element/page";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useSession } from "../queries.ts";
import { useSpeech } from "../words/speech.ts";

/** A name, and the query that the page's URL has with the filter. */
type Saved = readonly (readonly [name: string, query: string])[];

/** Text that this page did not write, from an older release or by hand, counts as none. */
function savedIn(text: string | undefined): Saved {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(found)) return [];
    return found.filter((each): each is Saved[number] => {
      const [name, query] = Array.isArray(each) ? each : [];
      return typeof name === "string" && typeof query === "string";
    });
  } catch {
    return [];
  }
}

export function SavedFilters({ query }: { query: string }) {
  const { say } = useSpeech();
  const place = `filters ${useSession().data?.accountId}`;
  const [saved, setSaved] = useState(() => savedIn(recall(place)));
  const keep = (changed: Saved) => {
    remember(place, JSON.stringify(changed));
    setSaved(changed);
  };
  const without = (name: string) => saved.filter(([each]) => each !== name);
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = `${new FormData(event.currentTarget).get("name")}`.trim();
    if (name) keep([...without(name), [name, query]]);
  };
  const isNew = query !== "" && !saved.some(([, to]) => to === query);
  if (!isNew && saved.length === 0) return null;
  return (
    <div className="mb-5 flex flex-wrap items-center gap-x-4 gap-y-2">
      {saved.map(([name, to]) => (
        <span key={name} className="flex min-w-0 items-center">
          <Link
            href={`/addresses?${to}`}
            aria-current={to === query}
            className="link break-all aria-[current=true]:font-semibold"
          >
            {name}
          </Link>
          <Button
            look="bare"
            small
            aria-label={say("removeFilter", { name })}
            onClick={() => keep(without(name))}
          >
            <Icon name="cross" size={14} />
          </Button>
        </span>
      ))}
      {isNew && (
        <form onSubmit={save} className="flex items-center gap-2">
          <input
            className="input"
            name="name"
            aria-label={say("filterName")}
            placeholder={say("filterName")}
            maxLength={40}
            autoComplete="off"
          />
          <Button small type="submit" className="flex-none">
            {say("saveFilter")}
          </Button>
        </form>
      )}
    </div>
  );
}
