// Stores a value outside of React components. Components that use the value are rendered again when
// it changes.

import { useSyncExternalStore } from "react";

export function openOutside<Value>(first: Value) {
  let now = first;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    set(next: Value) {
      now = next;
      for (const listener of listeners) listener();
    },
    useValue: () => useSyncExternalStore(subscribe, () => now),
  };
}
