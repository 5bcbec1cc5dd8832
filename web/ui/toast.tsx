import { useSyncExternalStore } from "react";

const shownMs = 5000;
let present = "";
const listeners = new Set<() => void>();

const show = (text: string) => {
  present = text;
  for (const listener of listeners) listener();
};

/** Says briefly, to eyes and to a screen reader, that something was done. Never for errors. */
export function toast(text: string) {
  show(text);
  setTimeout(() => {
    if (present === text) show("");
  }, shownMs);
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Toasts appear in it. It must be on the page before the first one, or none is read out. */
export function Toasts() {
  const text = useSyncExternalStore(subscribe, () => present);
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-4 bottom-6 z-50 flex justify-center"
    >
      {text && <div className="toast">{text}</div>}
    </div>
  );
}
