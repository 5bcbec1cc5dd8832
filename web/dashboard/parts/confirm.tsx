import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { useSpeech } from "../words/speech.ts";

type ConfirmProps = {
  title: string;
  /** The button's label, such as "Rotate now". */
  action: string;
  open: boolean;
  busy: boolean;
  onClose: () => void;
  onConfirm: () => void;
  children: ReactNode;
};

/** Asks for confirmation of an action that can interrupt a service, such as a key rotation. */
export function Confirm(props: ConfirmProps) {
  const { say } = useSpeech();
  const { title, action, open, busy, onClose, onConfirm, children } = props;
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <div className="space-y-3 text-soft">{children}</div>
      <div className="mt-6 flex flex-wrap justify-end gap-3">
        <Button onClick={onClose}>{say("cancel")}</Button>
        <Button look="danger" busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
