// Learns from a provider's refusals what it allows: calls and bytes of one request, calls a second,
// and until when nothing may be sent. Plans change, so this is forgotten after ten minutes.

import type { Call } from "./json-rpc.ts";

export type ProviderPace = {
  /** How long to wait before the next request. */
  pauseMs(): number;
  /** Takes from the front of `open` as many as one request may contain now: one at least. */
  take<Each extends { call: Call }>(open: Each[]): Each[];
  /** It answered 429, and nothing may be sent for so long. */
  limited(retryAfterMs: number | undefined): void;
  /** A request of so many calls was refused for its size. */
  tooMuch(calls: number): void;
  succeeded(): void;
  callsMax(): number;
};

/** Public endpoints accept so much in one batch. */
const callsMaxFirst = 100;
const bytesMaxFirst = 500_000;
const perSecondMin = 5;
/** The pause after a 429 that names no time. */
const pauseMsDefault = 1000;
const forgottenAfterMs = 600_000;

/** @param now milliseconds by a clock that does not go back */
export function openPace(now: () => number): ProviderPace {
  let learnt = fresh(now());
  let sent: { atMs: number; calls: number }[] = [];
  let silentUntilMs = 0;
  const sentWithin = (ms: number) => {
    sent = sent.filter(({ atMs }) => now() - atMs < ms);
    return sent.reduce((sum, { calls }) => sum + calls, 0);
  };
  const room = () => Math.floor(learnt.perSecond - sentWithin(1000));
  return {
    callsMax: () => learnt.callsMax,
    pauseMs() {
      if (now() - learnt.sinceMs > forgottenAfterMs) learnt = fresh(now());
      const silentMs = Math.ceil(silentUntilMs - now());
      if (silentMs > 0) return silentMs;
      return room() >= 1 ? 0 : Math.max(1, Math.ceil(1000 - (now() - sent[0]!.atMs)));
    },
    take(open) {
      const callsMax = Math.max(1, Math.min(learnt.callsMax, room()));
      let bytes = 0;
      let count = 0;
      while (count < Math.min(open.length, callsMax)) {
        bytes += JSON.stringify(open[count]!.call).length + 40;
        if (count > 0 && bytes > learnt.bytesMax) break;
        count++;
      }
      if (count > 0) sent.push({ atMs: now(), calls: count });
      return open.splice(0, count);
    },
    limited(retryAfterMs = pauseMsDefault) {
      const least = Math.max(perSecondMin, sentWithin(1000) * 0.7);
      learnt.perSecond = Math.min(learnt.perSecond, least);
      silentUntilMs = Math.max(silentUntilMs, now() + retryAfterMs);
    },
    tooMuch(calls) {
      learnt.callsMax = Math.max(1, Math.min(learnt.callsMax, Math.floor(calls / 2)));
      learnt.bytesMax = Math.max(10_000, learnt.bytesMax / 2);
    },
    succeeded() {
      learnt.perSecond *= 1.02;
    },
  };
}

const fresh = (sinceMs: number) => ({
  callsMax: callsMaxFirst,
  bytesMax: bytesMaxFirst,
  perSecond: Number.POSITIVE_INFINITY,
  sinceMs,
});
