// Limits the number of log lines, because every request could log a line during an outage.

const everyMs = 60_000;
/** The maximum number of kinds that have their own limit. All further kinds share one limit. */
const kindsMax = 100;

/** Replaces numbers and hex with `#`, so that messages of the same kind are equal. */
export const messageKind = (text: string): string =>
  text.replace(/0x[0-9a-f]+|\d+/gi, "#").slice(0, 200);

/**
 * Returns a function that calls `log` at most once a minute for each kind of message. `log`
 * receives the number of messages of this kind that were skipped since its last call.
 *
 * @param nowMs a monotonic clock
 */
export function limitLogs(nowMs: () => number = () => performance.now()) {
  const kinds = new Map<string, { loggedAtMs: number; leftOut: number }>();
  return (kind: string, log: (leftOut: number) => void): void => {
    const key = kinds.has(kind) || kinds.size < kindsMax ? kind : "others";
    const now = nowMs();
    const known = kinds.get(key);
    if (known && now - known.loggedAtMs < everyMs) {
      known.leftOut++;
      return;
    }
    kinds.set(key, { loggedAtMs: now, leftOut: 0 });
    log(known?.leftOut ?? 0);
  };
}
