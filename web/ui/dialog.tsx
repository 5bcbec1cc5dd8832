import { type ReactNode, useEffect, useId, useRef } from "react";

type DialogProps = {
  title: string;
  open: boolean;
  onClose: () => void;
  /** For what is shown once: neither Escape nor a press outside may lose it. */
  persistent?: boolean;
  children: ReactNode;
};

/** The browser's own modal: it traps the focus, makes the page inert and gives the focus back. */
export function Dialog({ title, open, onClose, persistent = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  /** Closed by `open`: its event comes later, when it may have been opened again. */
  const isTold = useRef(false);

  useEffect(() => {
    if (open) dialog.current?.showModal();
    else if (dialog.current?.open) {
      isTold.current = true;
      dialog.current.close();
    }
  }, [open]);

  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      className="dialog"
      // Chrome closes on a second Escape whatever `cancel` says, unless told this.
      {...{ closedby: persistent ? "none" : "any" }}
      onClose={() => {
        if (!isTold.current) onClose();
        isTold.current = false;
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
