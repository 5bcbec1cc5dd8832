import { Button } from "../../ui/button.tsx";
import type { ClientId } from "../api.ts";
import { FirstAddress } from "../overview/first-address.tsx";
import { useConfig } from "../queries.ts";
import { NewSecret } from "./new-secret.tsx";

type NewKeyProps = { apiKey: string; clientId: ClientId | null; onDone: () => void };

/** The only moment the key is on a screen. */
export function NewKey({ apiKey, clientId, onDone }: NewKeyProps) {
  const config = useConfig();
  return (
    <div className="space-y-5">
      <NewSecret secret={apiKey} what="API key" testId="new-api-key">
        It is not shown again: the server keeps only its first characters.
      </NewSecret>
      {config.data && (
        <details>
          <summary className="link cursor-pointer">Try it: an example with this key in it</summary>
          <div className="mt-4">
            <FirstAddress apiKey={apiKey} clientId={clientId?.clientId} config={config.data} />
          </div>
        </details>
      )}
      <div className="flex justify-end">
        <Button onClick={onDone}>I have stored it</Button>
      </div>
    </div>
  );
}
