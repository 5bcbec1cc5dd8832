import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Notice } from "../../ui/notice.tsx";
import type { ClientId } from "../api.ts";
import { FirstAddress } from "../overview/first-address.tsx";
import { useConfig } from "../queries.ts";

type NewKeyProps = { apiKey: string; clientId: ClientId | null; onDone: () => void };

/** The only moment the key is on a screen. */
export function NewKey({ apiKey, clientId, onDone }: NewKeyProps) {
  const config = useConfig();
  return (
    <div className="space-y-5">
      <Notice tone="warn" title="Copy it now">
        <p>It is not shown again: the server keeps only its first characters.</p>
      </Notice>
      <div className="flex items-start gap-3 rounded-lg bg-sunken p-3">
        <code data-testid="new-api-key" className="min-w-0 flex-1 break-all select-all">
          {apiKey}
        </code>
        <CopyButton look="primary" text={apiKey} what="API key">
          Copy
        </CopyButton>
      </div>
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
