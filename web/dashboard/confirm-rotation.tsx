import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

type ConfirmProps = {
  title: string;
  open: boolean;
  busy: boolean;
  onClose: () => void;
  onConfirm: () => void;
  children: ReactNode;
};

/** Asks before something stops working, and says what. */
export function ConfirmRotation({ title, open, busy, onClose, onConfirm, children }: ConfirmProps) {
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <div className="space-y-3 text-soft">{children}</div>
      <div className="mt-6 flex flex-wrap justify-end gap-3">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" busy={busy} onClick={onConfirm}>
          Rotate now
        </Button>
      </div>
    </Dialog>
  );
}
