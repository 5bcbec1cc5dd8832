import { useState } from "react";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { api, type ClientId } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { sayProblem } from "../problems.ts";
import { useRotation } from "../queries.ts";

/** The client ID may stand in any page, so it is shown in full. */
export function ClientIdCard({ clientId }: { clientId: ClientId | null }) {
  const [asking, setAsking] = useState(false);
  const rotation = useRotation(api.rotateClientId);
  const rotate = () =>
    rotation.mutate(clientId?.clientId ?? null, {
      onSuccess: () => toast("The new client ID holds"),
      onSettled: () => setAsking(false),
    });

  return (
    <section aria-labelledby="client-id" className="card">
      <div className="flex items-start justify-between gap-4 p-5">
        <div>
          <h2 id="client-id">Client ID</h2>
          <p className="text-soft">
            Publishable. Works only in pages of your{" "}
            <Link href="/origins" className="link">
              allowed origins
            </Link>
            .
          </p>
        </div>
        <Button look="danger" small onClick={() => setAsking(true)}>
          {clientId ? "Rotate" : "Create"}
        </Button>
      </div>
      <div className="space-y-5 border-t border-line p-5">
        {rotation.isError && <Notice tone="bad">{sayProblem(rotation.error)}</Notice>}
        {clientId && <ClientIdFacts clientId={clientId} />}
      </div>
      <Confirm
        action="Rotate now"
        title={clientId ? "Rotate the client ID?" : "Create a client ID?"}
        open={asking}
        busy={rotation.isPending}
        onClose={() => setAsking(false)}
        onConfirm={rotate}
      >
        <p>
          Pages that still send the old client ID are refused with <code>unauthorized</code> at
          once, open tabs included. Publish the new one in your pages right after.
        </p>
      </Confirm>
    </section>
  );
}

function ClientIdFacts({ clientId }: { clientId: ClientId }) {
  return (
    <Definitions
      items={[
        [
          "Client ID",
          <span key="id" className="flex items-center gap-2">
            <code className="break-all">{clientId.clientId}</code>
            <CopyButton look="bare" text={clientId.clientId} what="client ID" />
          </span>,
        ],
        ["Created", <Time key="created" at={clientId.createdAt} />],
        ["Rotated", <Time key="rotated" at={clientId.rotatedAt} />],
        ["Last used", <Time key="used" at={clientId.lastUsedAt} />],
        ["Limit", "10 requests a second, 20 at once"],
        ["Creates", <Binding key="bound" isBound={clientId.bound} />],
      ]}
    />
  );
}

/** A reader of the page has its client ID: bound, it makes only what the shop's server signed. */
function Binding({ isBound }: { isBound: boolean }) {
  const binding = useRotation(api.bindClientId);
  return (
    <span className="flex flex-wrap items-center gap-3">
      {isBound ? "only what your server signed" : "any intent"}
      <Button small busy={binding.isPending} onClick={() => binding.mutate(!isBound)}>
        {isBound ? "Allow any intent" : "Require a signature"}
      </Button>
      {binding.isError && <Notice tone="bad">{sayProblem(binding.error)}</Notice>}
    </span>
  );
}
