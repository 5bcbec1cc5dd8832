import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Empty } from "../../ui/states.tsx";
import {
  type ApiKey,
  api,
  type ClientId,
  type Credentials,
  type NewApiKey,
  type Scope,
} from "../api.ts";
import { FirstAddress } from "../overview/first-address.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { SecretDialog } from "../parts/secret-dialog.tsx";
import { Time } from "../parts/time.tsx";
import { useConfig, useRotation } from "../queries.ts";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";
import type { Key } from "../words/words.ts";

/** The action whose dialog is open. */
type PendingChange = { to: "rotate" | "revoke"; prefix: string } | { to: "add" } | undefined;

/**
 * Lists API keys, and creates, rotates, and revokes them. The page forgets a new key when its
 * dialog closes.
 */
export function ApiKeysCard({ credentials }: { credentials: Credentials }) {
  const { say } = useSpeech();
  const { apiKeys, apiKeysMax, clientId } = credentials;
  const [pending, setPending] = useState<PendingChange>();
  const [shown, setShown] = useState<string>();
  const rotation = useRotation(api.rotateApiKey);
  const addition = useRotation(api.addApiKey);
  const removal = useRotation(api.revokeApiKey);
  const changes = [rotation, addition, removal];
  const failed = changes.find(({ isError }) => isError);
  const show = {
    onSuccess: ({ apiKey }: { apiKey: string }) => setShown(apiKey),
    onSettled: () => setPending(undefined),
  };
  const begin = (next: PendingChange) => {
    for (const change of changes) change.reset();
    setPending(next);
  };
  const add = (key: NewApiKey) => addition.mutate(key, show);
  const forget = () => {
    setShown(undefined);
    for (const change of changes) change.reset();
  };
  const held = pending && "prefix" in pending ? pending.prefix : "";

  return (
    <section aria-labelledby="api-keys" className="card">
      <CardHead
        hasRoom={apiKeys.length > 0 && apiKeys.length < apiKeysMax}
        onAdd={() => begin({ to: "add" })}
      />
      <div className="divide-y divide-line border-t border-line px-5">
        {failed && pending?.to !== "add" && (
          <div className="py-5">
            <Notice tone="bad">{sayProblem(failed.error, say)}</Notice>
          </div>
        )}
        {apiKeys.length === 0 && <NoKey busy={addition.isPending} onCreate={() => add({})} />}
        {apiKeys.map((apiKey) => (
          <KeyFacts key={apiKey.prefix} apiKey={apiKey} onAsk={begin} />
        ))}
      </div>
      <ConfirmRotation
        prefix={held}
        open={pending?.to === "rotate"}
        busy={rotation.isPending}
        onClose={() => setPending(undefined)}
        onConfirm={() => rotation.mutate(held, show)}
      />
      <ConfirmRevocation
        prefix={held}
        open={pending?.to === "revoke"}
        busy={removal.isPending}
        onClose={() => setPending(undefined)}
        onConfirm={() => removal.mutate(held, { onSettled: () => setPending(undefined) })}
      />
      <Dialog
        title={say("addApiKey")}
        open={pending?.to === "add"}
        onClose={() => begin(undefined)}
      >
        <NewKeyForm busy={addition.isPending} onAdd={add} />
      </Dialog>
      <NewKey apiKey={shown} clientId={clientId} onDone={forget} />
    </section>
  );
}

/** @param hasRoom whether the account may have more keys */
function CardHead({ hasRoom, onAdd }: { hasRoom: boolean; onAdd: () => void }) {
  const { say } = useSpeech();
  return (
    <div className="flex items-start justify-between gap-4 p-5">
      <div>
        <h2 id="api-keys">{say("apiKeys")}</h2>
        <p className="text-soft">{say("apiKeysText")}</p>
      </div>
      {hasRoom && (
        <Button small onClick={onAdd}>
          {say("addKey")}
        </Button>
      )}
    </div>
  );
}

type AskProps = {
  prefix: string;
  open: boolean;
  busy: boolean;
  onClose: () => void;
  onConfirm: () => void;
};

function ConfirmRotation({ prefix, ...props }: AskProps) {
  const { say } = useSpeech();
  return (
    <Confirm action={say("rotateNow")} title={say("rotateKeyAsk")} {...props}>
      <p>
        <Said as="rotateKeyText" prefix={<code>{prefix}…</code>} code={<code>unauthorized</code>} />
      </p>
      <p>{say("keyShownOnce")}</p>
    </Confirm>
  );
}

function ConfirmRevocation({ prefix, ...props }: AskProps) {
  const { say } = useSpeech();
  return (
    <Confirm action={say("revokeNow")} title={say("revokeKeyAsk")} {...props}>
      <p>
        <Said as="revokeKeyText" prefix={<code>{prefix}…</code>} />
      </p>
    </Confirm>
  );
}

function NoKey({ busy, onCreate }: { busy: boolean; onCreate: () => void }) {
  const { say } = useSpeech();
  return (
    <Empty
      icon="key"
      title={say("noApiKey")}
      action={
        <Button look="primary" busy={busy} onClick={onCreate}>
          {say("createApiKey")}
        </Button>
      }
    >
      {say("noApiKeyText")}
    </Empty>
  );
}

function KeyFacts({ apiKey, onAsk }: { apiKey: ApiKey; onAsk: (pending: PendingChange) => void }) {
  const { say } = useSpeech();
  const { prefix, name, scopes, expiresAt, seenInBrowserAt } = apiKey;
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  return (
    <div className="space-y-5 py-5">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h3>{name}</h3>
        <div className="flex gap-2">
          {!isExpired && (
            <Button look="danger" small onClick={() => onAsk({ to: "rotate", prefix })}>
              {say("rotate")}
            </Button>
          )}
          <Button look="danger" small onClick={() => onAsk({ to: "revoke", prefix })}>
            {say("revoke")}
          </Button>
        </div>
      </div>
      {isExpired && <Notice tone="warn">{say("keyExpired")}</Notice>}
      {seenInBrowserAt && (
        <Notice tone="bad" title={say("keySeenAsk")}>
          <p>
            <Said as="keySeenWhen" when={<Time at={seenInBrowserAt} />} />
          </p>
        </Notice>
      )}
      <Definitions
        items={[
          [say("key"), <code key="key">{prefix}…</code>],
          [say("may"), <code key="may">{scopes.join(", ")}</code>],
          [say("created"), <Time key="created" at={apiKey.createdAt} />],
          [say("rotated"), <Time key="rotated" at={apiKey.rotatedAt} />],
          [say("lastUsed"), <Time key="used" at={apiKey.lastUsedAt} />],
          [say("expires"), <Time key="expires" at={expiresAt} />],
          [
            say("limit"),
            say("limitWebhooksText", { limit: say("limitText", { rate: 50, burst: 100 }) }),
          ],
        ]}
      />
    </div>
  );
}

type NewKeyProps = { apiKey: string | undefined; clientId: ClientId; onDone: () => void };

/** Shows a new key once, with an example request. */
function NewKey({ apiKey, clientId, onDone }: NewKeyProps) {
  const { say } = useSpeech();
  const config = useConfig();
  return (
    <SecretDialog
      title={say("yourNewKey")}
      secret={apiKey}
      what={say("apiKeyWhat")}
      testId="new-api-key"
      says={say("keyNotShownAgain")}
      onDone={onDone}
    >
      {apiKey && config.data && (
        <details>
          <summary className="link cursor-pointer">{say("tryKey")}</summary>
          <div className="mt-4">
            <FirstAddress apiKey={apiKey} clientId={clientId.clientId} config={config.data} />
          </div>
        </details>
      )}
    </SecretDialog>
  );
}

const meanings: Record<Scope, Key> = {
  create: "scopeCreate",
  read: "scopeRead",
  webhooks: "scopeWebhooks",
};
const scopes = Object.keys(meanings) as Scope[];

type FormProps = { busy: boolean; onAdd: (key: NewApiKey) => void };

/** Asks for the name, scopes, and expiry of a new key. */
function NewKeyForm({ busy, onAdd }: FormProps) {
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
