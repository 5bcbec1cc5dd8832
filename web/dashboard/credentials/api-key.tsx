import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Empty } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { type ApiKey, api, type ClientId } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { sayProblem } from "../problems.ts";
import { useRotation } from "../queries.ts";
import { NewKey } from "./new-key.tsx";

type ApiKeyCardProps = { apiKey: ApiKey | null; clientId: ClientId | null };

/** The API key: made, shown once, rotated. The key itself lives only in the open dialog. */
export function ApiKeyCard({ apiKey, clientId }: ApiKeyCardProps) {
  const [asking, setAsking] = useState(false);
  const [shown, setShown] = useState<string>();
  const rotation = useRotation(api.rotateApiKey);
  const rotate = () =>
    rotation.mutate(apiKey?.prefix ?? null, {
      onSuccess: ({ apiKey }) => setShown(apiKey),
      onSettled: () => setAsking(false),
    });

  const forget = () => {
    setShown(undefined);
    rotation.reset();
  };

  return (
    <section aria-labelledby="api-key" className="card">
      <div className="flex items-start justify-between gap-4 p-5">
        <div>
          <h2 id="api-key">API key</h2>
          <p className="text-soft">Secret. For your servers only, never for a web page.</p>
        </div>
        {apiKey && (
          <Button look="danger" small onClick={() => setAsking(true)}>
            Rotate
          </Button>
        )}
      </div>
      <div className="border-t border-line p-5">
        {rotation.isError && (
          <div className="mb-4">
            <Notice tone="bad">{sayProblem(rotation.error)}</Notice>
          </div>
        )}
        {apiKey ? (
          <KeyFacts apiKey={apiKey} />
        ) : (
          <NoKey busy={rotation.isPending} onCreate={rotate} />
        )}
      </div>
      <Confirm
        action="Rotate now"
        title="Rotate the API key?"
        open={asking}
        busy={rotation.isPending}
        onClose={() => setAsking(false)}
        onConfirm={rotate}
      >
        <p>
          The key <code>{apiKey?.prefix}…</code> stops working at once, on every server. Whatever
          still sends it is refused with <code>unauthorized</code> until it has the new one.
        </p>
        <p>The new key is shown once, right after this.</p>
      </Confirm>
      <Dialog title="Your new API key" persistent open={shown !== undefined} onClose={forget}>
        <NewKey apiKey={shown ?? ""} clientId={clientId} onDone={forget} />
      </Dialog>
    </section>
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

function KeyFacts({ apiKey }: { apiKey: ApiKey }) {
  return (
    <div className="space-y-5">
      {apiKey.seenInBrowserAt && (
        <Notice tone="bad" title="Seen in a browser: rotate it">
          <p>
            A request with this key came from a web page <Time at={apiKey.seenInBrowserAt} />. It
            was refused, but whoever can read that page can read the key.
          </p>
        </Notice>
      )}
      <Definitions
        items={[
          ["Key", <code key="key">{apiKey.prefix}…</code>],
          ["Created", <Time key="created" at={apiKey.createdAt} />],
          ["Rotated", <Time key="rotated" at={apiKey.rotatedAt} />],
          ["Last used", <Time key="used" at={apiKey.lastUsedAt} />],
          ["Limit", "50 requests a second, 100 at once"],
        ]}
      />
    </div>
  );
}
