import type { ClientId } from "../api.ts";
import { FirstAddress } from "../overview/first-address.tsx";
import { useConfig } from "../queries.ts";
import { SecretDialog } from "../secret-dialog.tsx";

type NewKeyProps = { apiKey: string | undefined; clientId: ClientId | null; onDone: () => void };

export function NewKey({ apiKey, clientId, onDone }: NewKeyProps) {
  const config = useConfig();
  return (
    <SecretDialog
      title="Your new API key"
      secret={apiKey}
      what="API key"
      testId="new-api-key"
      says="It is not shown again: the server keeps only its first characters."
      onDone={onDone}
    >
      {apiKey && config.data && (
        <details>
          <summary className="link cursor-pointer">Try it: an example with this key in it</summary>
          <div className="mt-4">
            <FirstAddress apiKey={apiKey} clientId={clientId?.clientId} config={config.data} />
          </div>
        </details>
      )}
    </SecretDialog>
  );
}
