import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { type NewApiKey, type Scope, scopes } from "../api.ts";

const meanings: Record<Scope, string> = {
  create: "makes and checks addresses",
  read: "reads addresses, references and events",
  webhooks: "adds, changes and removes webhook endpoints",
};

type FormProps = { busy: boolean; onAdd: (key: NewApiKey) => void };

/** Asks what another key is called, what it may do, and until when. */
export function NewKeyForm({ busy, onAdd }: FormProps) {
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
        label="Name"
        hint="For yourself, such as the server that has it"
        value={name}
        onChange={(event) => setName(event.target.value)}
        maxLength={64}
        required
      />
      <fieldset>
        <legend className="mb-1 font-medium">It may</legend>
        {scopes.map((scope) => (
          <label key={scope} className="flex items-center gap-2 py-1">
            <input
              type="checkbox"
              checked={chosen.includes(scope)}
              onChange={(event) => turn(scope, event.target.checked)}
            />
            <span>
              <code>{scope}</code>: {meanings[scope]}
            </span>
          </label>
        ))}
      </fieldset>
      <Field
        label="Expires"
        hint="At 00:00 UTC of this day; empty for never"
        type="date"
        value={until}
        onChange={(event) => setUntil(event.target.value)}
      />
      <div className="flex justify-end">
        <Button type="submit" look="primary" busy={busy} disabled={chosen.length === 0}>
          Add the key
        </Button>
      </div>
    </form>
  );
}
