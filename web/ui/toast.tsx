import { openOutside } from "./outside.ts";

const shownMs = 5000;
const present = openOutside("");
let timer: number | undefined;

/** Briefly shows and announces that something was done. Never for errors. */
export function toast(text: string) {
  present.set(text);
  clearTimeout(timer);
  timer = window.setTimeout(present.set, shownMs, "");
}

/**
 * The region in which toasts appear. The region must exist before the first toast. Screen readers
 * do not announce a toast whose region is new.
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
