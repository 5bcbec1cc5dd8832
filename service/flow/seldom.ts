// Writes a log line that an outage would repeat for each request at most once a minute.

const everyMs = 60_000;
/** Kinds told apart; what comes beyond shares one. */
const kindsMax = 100;

/** The text that repetitions of one message share: without numbers and hex, which differ. */
export const messageKind = (text: string): string =>
  text.replace(/0x[0-9a-f]+|\d+/gi, "#").slice(0, 200);

/**
 * Tells a kind of event at most once a minute, with how many were left out since it was last told.
 * @param nowMs never goes back
 */
export function seldom(nowMs: () => number = () => performance.now()) {
  const kinds = new Map<string, { toldAt: number; leftOut: number }>();
  return (kind: string, tell: (leftOut: number) => void): void => {
    const key = kinds.has(kind) || kinds.size < kindsMax ? kind : "others";
    const now = nowMs();
    const known = kinds.get(key);
    if (known && now - known.toldAt < everyMs) {
      known.leftOut++;
      return;
    }
    kinds.set(key, { toldAt: now, leftOut: 0 });
    tell(known?.leftOut ?? 0);
  };
}
