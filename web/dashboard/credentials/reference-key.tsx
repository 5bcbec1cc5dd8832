import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Notice } from "../../ui/notice.tsx";
import { api, type Credentials } from "../api.ts";
import { Confirm } from "../parts/confirm.tsx";
import { SecretDialog } from "../parts/secret-dialog.tsx";
import { Time } from "../parts/time.tsx";
import { useRotation } from "../queries.ts";
import { sayProblem } from "../words/problems.ts";
import { useSpeech } from "../words/speech.ts";

type CardProps = { referenceKey: Credentials["referenceKey"] };

/** The key that derives salts from references, and signs for a bound client ID. */
export function ReferenceKeyCard({ referenceKey }: CardProps) {
  const { say } = useSpeech();
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
          <h2 id="reference-key">{say("referenceKey")}</h2>
          <p className="text-soft">{say("referenceKeyText")}</p>
        </div>
        <Button look={referenceKey ? "danger" : "quiet"} small onClick={() => setAsking(true)}>
          {say(referenceKey ? "makeNewOne" : "create")}
        </Button>
      </div>
      <div className="space-y-5 border-t border-line p-5">
        {rotation.isError && <Notice tone="bad">{sayProblem(rotation.error, say)}</Notice>}
        {referenceKey ? (
          <Definitions
            items={[
              [say("inUse"), say("numberN", { n: referenceKey.number })],
              [say("created"), <Time key="created" at={referenceKey.createdAt} />],
            ]}
          />
        ) : (
          <p className="text-soft">{say("noReferenceKey")}</p>
        )}
      </div>
      <Confirm
        action={say("makeNow")}
        title={say("newReferenceKeyAsk")}
        open={asking}
        busy={rotation.isPending}
        onClose={() => setAsking(false)}
        onConfirm={rotate}
      >
        <p>{say("newReferenceKeyText")}</p>
        <p>{say("shownOnceAfter")}</p>
      </Confirm>
      <SecretDialog
        title={say("yourReferenceKey")}
        secret={shown}
        what={say("referenceKeyWhat")}
        testId="new-reference-key"
        says={say("notShownAgain")}
        onDone={forget}
      />
    </section>
  );
}
