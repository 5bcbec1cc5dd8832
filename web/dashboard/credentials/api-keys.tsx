import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Empty } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { type ApiKey, api, type Credentials, type NewApiKey } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { sayProblem } from "../problems.ts";
import { useRotation } from "../queries.ts";
import { NewKey } from "./new-key.tsx";
import { NewKeyForm } from "./new-key-form.tsx";

/** The question to the person before it is done. */
type Asked = { to: "rotate" | "revoke"; prefix: string } | { to: "add" } | undefined;

/** The API keys: made, shown once, rotated, revoked. A key lives only in the open dialog. */
export function ApiKeysCard({ credentials }: { credentials: Credentials }) {
  const { apiKeys, apiKeysMax, clientId } = credentials;
  const [asked, setAsked] = useState<Asked>();
  const [shown, setShown] = useState<string>();
  const rotation = useRotation(api.rotateApiKey);
  const addition = useRotation(api.addApiKey);
  const removal = useRotation(api.revokeApiKey);
  const changes = [rotation, addition, removal];
  const failed = changes.find(({ isError }) => isError);
  const show = {
    onSuccess: ({ apiKey }: { apiKey: string }) => setShown(apiKey),
    onSettled: () => setAsked(undefined),
  };
  const begin = (next: Asked) => {
    for (const change of changes) change.reset();
    setAsked(next);
  };
  const add = (key: NewApiKey) => addition.mutate(key, show);
  const forget = () => {
    setShown(undefined);
    for (const change of changes) change.reset();
  };
  const held = asked && "prefix" in asked ? asked.prefix : "";

  return (
    <section aria-labelledby="api-keys" className="card">
      <div className="flex items-start justify-between gap-4 p-5">
        <div>
          <h2 id="api-keys">API keys</h2>
          <p className="text-soft">Secret. For your servers only, never for a web page.</p>
        </div>
        {apiKeys.length > 0 && apiKeys.length < apiKeysMax && (
          <Button small onClick={() => begin({ to: "add" })}>
            Add a key
          </Button>
        )}
      </div>
      <div className="divide-y divide-line border-t border-line px-5">
        {failed && asked?.to !== "add" && (
          <div className="py-5">
            <Notice tone="bad">{sayProblem(failed.error)}</Notice>
          </div>
        )}
        {apiKeys.length === 0 && <NoKey busy={addition.isPending} onCreate={() => add({})} />}
        {apiKeys.map((apiKey) => (
          <KeyFacts key={apiKey.prefix} apiKey={apiKey} onAsk={begin} />
        ))}
      </div>
      <ConfirmRotation
        prefix={held}
        open={asked?.to === "rotate"}
        busy={rotation.isPending}
        onClose={() => setAsked(undefined)}
        onConfirm={() => rotation.mutate(held, show)}
      />
      <ConfirmRevocation
        prefix={held}
        open={asked?.to === "revoke"}
        busy={removal.isPending}
        onClose={() => setAsked(undefined)}
        onConfirm={() => removal.mutate(held, { onSettled: () => setAsked(undefined) })}
      />
      <Dialog title="Add an API key" open={asked?.to === "add"} onClose={() => begin(undefined)}>
        <NewKeyForm busy={addition.isPending} onAdd={add} />
      </Dialog>
      <NewKey apiKey={shown} clientId={clientId} onDone={forget} />
    </section>
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
  return (
    <Confirm action="Rotate now" title="Rotate the API key?" {...props}>
      <p>
        The key <code>{prefix}…</code> stops working at once, on every server. Whatever still sends
        it is refused with <code>unauthorized</code> until it has the new one. To change it without
        a gap, add a second key first and revoke this one afterwards.
      </p>
      <p>The new key is shown once, right after this.</p>
    </Confirm>
  );
}

function ConfirmRevocation({ prefix, ...props }: AskProps) {
  return (
    <Confirm action="Revoke now" title="Revoke the API key?" {...props}>
      <p>
        The key <code>{prefix}…</code> stops working at once, on every server, for good. Addresses
        that it made are not touched.
      </p>
    </Confirm>
  );
}

function NoKey({ busy, onCreate }: { busy: boolean; onCreate: () => void }) {
  return (
    <Empty
      icon="key"
      title="No API key yet"
      action={
        <Button look="primary" busy={busy} onClick={onCreate}>
          Create API key
        </Button>
      }
    >
      The key is shown once, when you create it. Have a safe place ready.
    </Empty>
  );
}

function KeyFacts({ apiKey, onAsk }: { apiKey: ApiKey; onAsk: (asked: Asked) => void }) {
  const { prefix, name, scopes, expiresAt, seenInBrowserAt } = apiKey;
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  return (
    <div className="space-y-5 py-5">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h3>{name}</h3>
        <div className="flex gap-2">
          {!isExpired && (
            <Button look="danger" small onClick={() => onAsk({ to: "rotate", prefix })}>
              Rotate
            </Button>
          )}
          <Button look="danger" small onClick={() => onAsk({ to: "revoke", prefix })}>
            Revoke
          </Button>
        </div>
      </div>
      {isExpired && <Notice tone="warn">It has expired: add another key.</Notice>}
      {seenInBrowserAt && (
        <Notice tone="bad" title="Seen in a browser: rotate it">
          <p>
            A request with this key came from a web page <Time at={seenInBrowserAt} />. It was
            refused, but whoever can read that page can read the key.
          </p>
        </Notice>
      )}
      <Definitions
        items={[
          ["Key", <code key="key">{prefix}…</code>],
          ["May", scopes.join(", ")],
          ["Created", <Time key="created" at={apiKey.createdAt} />],
          ["Rotated", <Time key="rotated" at={apiKey.rotatedAt} />],
          ["Last used", <Time key="used" at={apiKey.lastUsedAt} />],
          ["Expires", <Time key="expires" at={expiresAt} />],
          ["Limit", "50 requests a second, 100 at once"],
        ]}
      />
    </div>
  );
}
