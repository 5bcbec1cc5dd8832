import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { api, type Origins } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { Heading } from "../heading.tsx";
import { sayProblem } from "../problems.ts";
import { useOriginChange, useOrigins } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { AddOrigin } from "./add-origin.tsx";
import { TryOrigin } from "./try-origin.tsx";

export function OriginsPage() {
  const origins = useOrigins();
  return (
    <>
      <Heading title="Origins">
        The web origins whose pages may create addresses with your client ID.
      </Heading>
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
  const removal = useOriginChange(api.removeOrigin);
  const [leaving, setLeaving] = useState<string>();
  const remove = (origin: string) =>
    removal.mutate(origin, {
      onSuccess: () => toast(`${origin} removed`),
      onError: (error) => toast(sayProblem(error)),
      onSettled: () => setLeaving(undefined),
    });
  return (
    <section aria-labelledby="allowed" className="card">
      <div className="flex items-baseline justify-between gap-3 border-b border-line p-5">
        <h2 id="allowed">Allowed</h2>
        <p className="text-sm text-soft tabular-nums">
          {list.origins.length} of {list.max}
        </p>
      </div>
      {list.origins.length === 0 ? (
        <Empty icon="globe" title="No page may use your client ID yet">
          Add the origin of your site above: what stands in the address bar, without the path.
        </Empty>
      ) : (
        <Table
          caption="Allowed origins"
          rows={list.origins}
          keyOf={({ origin }) => origin}
          columns={[
            { head: "Origin", cell: ({ origin }) => <code className="break-all">{origin}</code> },
            { head: "Added", cell: ({ createdAt }) => <Time at={createdAt} /> },
            {
              head: "",
              cell: ({ origin }) => (
                <Button
                  look="bare"
                  small
                  className="ml-auto"
                  aria-label={`Remove ${origin}`}
                  busy={removal.isPending && removal.variables === origin}
                  onClick={() => setLeaving(origin)}
                >
                  <Icon name="cross" size={16} />
                  Remove
                </Button>
              ),
            },
          ]}
        />
      )}
      <Confirm
        title="Remove this origin?"
        action="Remove it"
        open={leaving !== undefined}
        busy={removal.isPending}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => leaving && remove(leaving)}
      >
        <p>
          Pages of <code className="break-all">{leaving}</code> can create no more addresses with
          your client ID, from this moment on. Addresses that exist stay as they are.
        </p>
      </Confirm>
    </section>
  );
}
