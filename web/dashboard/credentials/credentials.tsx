// The page with the client ID, its settings, and the API keys.

import { useState } from "react";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Definitions } from "../../ui/definition.tsx";
import { Notice } from "../../ui/notice.tsx";
import { toast } from "../../ui/toast.tsx";
import { api, type ClientId, type Credentials } from "../api.ts";
import { Heading } from "../heading.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { SecretDialog } from "../parts/secret-dialog.tsx";
import { Time } from "../parts/time.tsx";
import { useCredentials, useRotation } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { sayProblem } from "../words/problems.ts";
import { Said, useSpeech } from "../words/speech.ts";
import { ApiKeysCard } from "./api-keys.tsx";

export function CredentialsPage() {
  const { say } = useSpeech();
  const credentials = useCredentials();
  return (
    <>
      <Heading title={say("credentials")}>{say("credentialsText")}</Heading>
      <QueryState query={credentials} lines={4} inCard />
      {credentials.data && (
        <div className="space-y-6">
          <ApiKeysCard credentials={credentials.data} />
          <ClientIdCard clientId={credentials.data.clientId} />
          <ReferenceKeyCard referenceKey={credentials.data.referenceKey} />
        </div>
      )}
    </>
  );
}

/** Shows the whole client ID, because it is public. */
function ClientIdCard({ clientId }: { clientId: ClientId }) {
  const { say } = useSpeech();
  const [asking, setAsking] = useState(false);
  const rotation = useRotation(api.rotateClientId);
  const rotate = () =>
    rotation.mutate(clientId.clientId, {
      onSuccess: () => toast(say("clientIdHolds")),
      onSettled: () => setAsking(false),
    });

  return (
    <section aria-labelledby="client-id" className="card">
      <div className="flex items-start justify-between gap-4 p-5">
        <div>
          <h2 id="client-id">{say("clientId")}</h2>
          <p className="text-soft">
            <Said
              as="clientIdText"
              link={
                <Link href="/origins" className="link">
                  {say("allowedOriginsLink")}
                </Link>
              }
            />
          </p>
        </div>
        <Button look="danger" small onClick={() => setAsking(true)}>
          {say("rotate")}
        </Button>
      </div>
      <div className="space-y-5 border-t border-line p-5">
        {rotation.isError && <Notice tone="bad">{sayProblem(rotation.error, say)}</Notice>}
        <ClientIdFacts clientId={clientId} />
      </div>
      <Confirm
        action={say("rotateNow")}
        title={say("rotateClientIdAsk")}
        open={asking}
        busy={rotation.isPending}
        onClose={() => setAsking(false)}
        onConfirm={rotate}
      >
        <p>
          <Said as="rotateClientIdText" code={<code>unauthorized</code>} />
        </p>
      </Confirm>
    </section>
  );
}

function ClientIdFacts({ clientId }: { clientId: ClientId }) {
  const { say } = useSpeech();
  return (
    <Definitions
      items={[
        [
          say("clientId"),
          <span key="id" className="flex items-center gap-2">
            <code className="break-all">{clientId.clientId}</code>
            <CopyButton look="bare" text={clientId.clientId} what={say("clientIdWhat")} />
          </span>,
        ],
        [say("created"), <Time key="created" at={clientId.createdAt} />],
        [say("rotated"), <Time key="rotated" at={clientId.rotatedAt} />],
        [say("lastUsed"), <Time key="used" at={clientId.lastUsedAt} />],
        [say("limit"), say("limitText", { rate: 10, burst: 20 })],
        [say("creates"), <Binding key="bound" isBound={clientId.bound} />],
        [say("references"), <Naming key="mayName" mayName={clientId.mayName} />],
      ]}
    />
  );
}

/**
 * The setting that binds the client ID. With a bound client ID, a page can create an address only
 * if the shop's server signed the intent.
 */
function Binding({ isBound }: { isBound: boolean }) {
  const { say } = useSpeech();
  const text = say(isBound ? "onlySigned" : "anyIntent");
  const action = say(isBound ? "allowAnyIntent" : "requireSignature");
  return <Setting text={text} action={action} change={() => api.bindClientId(!isBound)} />;
}

/** The setting that allows pages to choose the references of the addresses that they create. */
function Naming({ mayName }: { mayName: boolean }) {
  const { say } = useSpeech();
  const text = say(mayName ? "referencesAllowed" : "referencesRefused");
  const action = say(mayName ? "refuseReferences" : "allowReferences");
  return <Setting text={text} action={action} change={() => api.allowReferences(!mayName)} />;
}

type SettingProps = { text: string; action: string; change: () => Promise<object> };

function Setting({ text, action, change }: SettingProps) {
  const { say } = useSpeech();
  const changing = useRotation(change);
  return (
    <span className="flex flex-wrap items-center gap-3">
      {text}
      <Button small busy={changing.isPending} onClick={() => changing.mutate(undefined)}>
        {action}
      </Button>
      {changing.isError && <Notice tone="bad">{sayProblem(changing.error, say)}</Notice>}
    </span>
  );
}

type CardProps = { referenceKey: Credentials["referenceKey"] };

/**
 * Shows the reference key. A shop's server uses the reference key to derive salts from references.
 * If the client ID is bound, the key also signs the intents that pages may create.
 */
function ReferenceKeyCard({ referenceKey }: CardProps) {
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
