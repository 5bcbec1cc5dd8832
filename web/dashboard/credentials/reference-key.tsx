import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Time } from "../../ui/time.tsx";
import { api, type Credentials } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { sayProblem } from "../problems.ts";
import { useRotation } from "../queries.ts";
import { SecretDialog } from "../secret-dialog.tsx";

type CardProps = { referenceKey: Credentials["referenceKey"] };

/** The key that turns references into salts, and signs for a bound client ID. */
export function ReferenceKeyCard({ referenceKey }: CardProps) {
  const [asking, setAsking] = useState(false);
  const [shown, setShown] = useState<string>();
  const rotation = useRotation(api.rotateReferenceKey);
  const rotate = () =>
    rotation.mutate(undefined, {
      onSuccess: (made) => setShown(made.referenceKey),
      onSettled: () => setAsking(false),
    });
  const forget = () => {
    setShown(undefined);
    rotation.reset();
  };

  return (
    <section aria-labelledby="reference-key" className="card">
      <div className="flex items-start justify-between gap-4 p-5">
        <div>
          <h2 id="reference-key">Reference key</h2>
          <p className="text-soft">
            Secret. With it your server works out the address of an order before it asks, and proves
            which order an address was made for.
          </p>
        </div>
        <Button look="danger" small onClick={() => setAsking(true)}>
          {referenceKey ? "Make a new one" : "Create"}
        </Button>
      </div>
      <div className="space-y-5 border-t border-line p-5">
        {rotation.isError && <Notice tone="bad">{sayProblem(rotation.error)}</Notice>}
        {referenceKey ? (
          <Definitions
            items={[
              ["In use", `number ${referenceKey.number}`],
              ["Created", <Time key="created" at={referenceKey.createdAt} />],
            ]}
          />
        ) : (
          <p className="text-soft">It is drawn when it is first needed. To have it, create it.</p>
        )}
      </div>
      <Confirm
        action="Make it now"
        title="Make a new reference key?"
        open={asking}
        busy={rotation.isPending}
        onClose={() => setAsking(false)}
        onConfirm={rotate}
      >
        <p>
          New addresses are made with it from now on, and it alone signs for a bound client ID. Keep
          the old keys: they prove the addresses that were made with them.
        </p>
        <p>It is shown once, right after this.</p>
      </Confirm>
      <SecretDialog
        title="Your reference key"
        secret={shown}
        what="reference key"
        testId="new-reference-key"
        says="It is not shown again."
        onDone={forget}
      />
    </section>
  );
}
