import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import type { NewApiKey, Scope } from "../api.ts";
import { Field } from "../parts/field.tsx";
import { useSpeech } from "../words/speech.ts";
import type { Key } from "../words/words.ts";

const meanings: Record<Scope, Key> = {
  create: "scopeCreate",
  read: "scopeRead",
  webhooks: "scopeWebhooks",
};
const scopes = Object.keys(meanings) as Scope[];

type FormProps = { busy: boolean; onAdd: (key: NewApiKey) => void };

/** Asks for the name, scopes, and expiry of another key. */
export function NewKeyForm({ busy, onAdd }: FormProps) {
  const { say } = useSpeech();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<Scope[]>(["create"]);
  const [until, setUntil] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const expiresAt = until === "" ? null : new Date(`${until}T00:00:00Z`).toISOString();
    onAdd({ name: name.trim(), scopes: chosen, expiresAt });
  };
  const turn = (scope: Scope, isOn: boolean) =>
    setChosen(scopes.filter((each) => (each === scope ? isOn : chosen.includes(each))));

  return (
    <form onSubmit={submit} className="space-y-5">
      <Field
        label={say("name")}
        hint={say("nameHint")}
        value={name}
        onChange={(event) => setName(event.target.value)}
        maxLength={64}
        required
      />
      <fieldset>
        <legend className="mb-1 font-medium">{say("itMay")}</legend>
        {scopes.map((scope) => (
          <label key={scope} className="flex items-center gap-2 py-1">
            <input
              type="checkbox"
              checked={chosen.includes(scope)}
              onChange={(event) => turn(scope, event.target.checked)}
            />
            <span>
              <code>{scope}</code>: {say(meanings[scope])}
            </span>
          </label>
        ))}
      </fieldset>
      <Field
        label={say("expires")}
        hint={say("expiresHint")}
        type="date"
        value={until}
        onChange={(event) => setUntil(event.target.value)}
      />
      <div className="flex justify-end">
        <Button type="submit" look="primary" busy={busy} disabled={chosen.length === 0}>
          {say("addTheKey")}
        </Button>
      </div>
    </form>
  );
}
