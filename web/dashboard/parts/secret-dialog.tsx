import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Notice } from "../../ui/notice.tsx";
import { useSpeech } from "../words/speech.ts";

type SecretDialogProps = {
  title: string;
  /** Undefined while the dialog is closed. */
  secret: string | undefined;
  /** The kind of secret, such as "API key". */
  what: string;
  testId: string;
  /** The reason why the user must copy the secret now. */
  says: string;
  onDone: () => void;
  children?: ReactNode;
};

/** Shows a new secret, which the page cannot show again. */
export function SecretDialog(props: SecretDialogProps) {
  const { say } = useSpeech();
  const { title, secret, what, testId, says, onDone, children } = props;
  return (
    <Dialog title={title} persistent open={secret !== undefined} onClose={onDone}>
      <div className="space-y-5">
        <Notice tone="warn" title={say("copyItNow")}>
          <p>{says}</p>
        </Notice>
        <div className="flex items-start gap-3 rounded-lg bg-sunken p-3">
          <code data-testid={testId} className="min-w-0 flex-1 break-all select-all">
            {secret}
          </code>
          <CopyButton look="primary" text={secret ?? ""} what={what}>
            {say("copy")}
          </CopyButton>
        </div>
        {children}
        <div className="flex justify-end">
          <Button onClick={onDone}>{say("storedIt")}</Button>
        </div>
      </div>
    </Dialog>
  );
}
