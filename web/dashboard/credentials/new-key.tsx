import type { ClientId } from "../api.ts";
import { FirstAddress } from "../overview/first-address.tsx";
import { SecretDialog } from "../parts/secret-dialog.tsx";
import { useConfig } from "../queries.ts";
import { useSpeech } from "../words/speech.ts";

type NewKeyProps = { apiKey: string | undefined; clientId: ClientId; onDone: () => void };

export function NewKey({ apiKey, clientId, onDone }: NewKeyProps) {
  const { say } = useSpeech();
  const config = useConfig();
  return (
    <SecretDialog
      title={say("yourNewKey")}
      secret={apiKey}
      what={say("apiKeyWhat")}
      testId="new-api-key"
      says={say("keyKept")}
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
