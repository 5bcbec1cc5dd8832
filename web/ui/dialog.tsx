import { type ReactNode, useEffect, useId, useRef } from "react";

type DialogProps = {
  title: string;
  open: boolean;
  onClose: () => void;
  /** For secrets that are shown only once: neither Escape nor a press outside closes the dialog. */
  persistent?: boolean;
  children: ReactNode;
};

/** The browser's modal dialog traps the focus, makes the page inert, and restores the focus. */
export function Dialog({ title, open, onClose, persistent = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  /**
   * True after this component calls `close()`, until the resulting `close` event arrives. `onClose`
   * is not called for this event. The flag is necessary, because the dialog may be open again when
   * the event arrives.
   */
  const hasNotified = useRef(false);

  useEffect(() => {
    if (open) dialog.current?.showModal();
    else if (dialog.current?.open) {
      hasNotified.current = true;
      dialog.current.close();
    }
  }, [open]);

  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      className="dialog"
      // Without `closedby`, Chrome closes a dialog on the second Escape, regardless of `cancel`.
      {...{ closedby: persistent ? "none" : "any" }}
      onClose={() => {
        if (!hasNotified.current) onClose();
        hasNotified.current = false;
      }}
    >
      {open && (
        <>
          <h2 id={titleId} className="mb-3 text-lg">
            {title}
          </h2>
          {children}
        </>
      )}
    </dialog>
  );
}
