import { openOutside } from "./outside.ts";

const shownMs = 5000;
const present = openOutside("");
let timer: number | undefined;

/** Briefly shows and announces that something was done. Do not use a toast for an error. */
export function toast(text: string) {
  present.set(text);
  clearTimeout(timer);
  timer = window.setTimeout(present.set, shownMs, "");
}

/**
 * The region in which toasts appear. The page must contain this region before the first toast.
 * Screen readers do not announce a toast in a new region.
 */
export function Toasts() {
  const text = present.useValue();
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-4 bottom-6 z-50 flex justify-center"
    >
      {text && <div className="toast">{text}</div>}
    </div>
  );
}
