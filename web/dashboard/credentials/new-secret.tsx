import type { ReactNode } from "react";
import { CopyButton } from "../../ui/copy.tsx";
import { Notice } from "../../ui/notice.tsx";

/** `what` names it to the reader, such as "API key"; `children` say why it has to be copied. */
type NewSecretProps = { secret: string; what: string; testId: string; children: ReactNode };

/** A secret at the only moment that it is on a screen. */
export function NewSecret({ secret, what, testId, children }: NewSecretProps) {
  return (
    <>
      <Notice tone="warn" title="Copy it now">
        <p>{children}</p>
      </Notice>
      <div className="flex items-start gap-3 rounded-lg bg-sunken p-3">
        <code data-testid={testId} className="min-w-0 flex-1 break-all select-all">
          {secret}
        </code>
        <CopyButton look="primary" text={secret} what={what}>
          Copy
        </CopyButton>
      </div>
    </>
  );
}
