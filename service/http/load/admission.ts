// Overload: how many creates may be worked on at once follows what they take. Beyond, one is
// refused at once, before its body is read, so that those taken on are answered soon.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { followLatency } from "./follow-latency.ts";
import { shed } from "./shed.ts";

/** `isOver`: its reply has closed, whatever its handler still does. */
type Place = { isWorking: boolean; isOver: boolean; sinceMs: number };

/** A body that takes longer may be cut off where its place is needed. */
const bodyMsMin = 1_000;

/** @param most of all under way, those whose bodies are still on their way included */
export function openAdmission(most: number, onShed: () => void) {
  const limit = followLatency(most);
  const places = new WeakMap<IncomingMessage, Place>();
  /** Requests whose bodies are on their way, oldest first. */
  const waiting = new Set<IncomingMessage>();
  let underWay = 0;
  let working = 0;

  const leave = (raw: IncomingMessage, place: Place, statusCode: number) => {
    underWay--;
    place.isOver = true;
    waiting.delete(raw);
    if (!place.isWorking) return;
    working--;
    const nowMs = performance.now();
    if (statusCode === 200) limit.took(nowMs - place.sinceMs, nowMs);
  };

  /** Clients that are slow with their bodies, on purpose perhaps, do not keep others out. */
  const cutSlowest = (): boolean => {
    const [oldest] = waiting;
    if (!oldest || performance.now() - places.get(oldest)!.sinceMs < bodyMsMin) return false;
    waiting.delete(oldest);
    oldest.socket.destroy();
    return true;
  };

  return {
    limit: () => Math.floor(limit.current()),
    working: () => working,
    /** An onRequest hook. */
    enter({ raw }: FastifyRequest, reply: FastifyReply, done: () => void) {
      limit.met(working + 1);
      if (working >= limit.current() || (underWay >= most && !cutSlowest())) {
        onShed();
        return void shed(reply);
      }
      const place = { isWorking: true, isOver: false, sinceMs: performance.now() };
      places.set(raw, place);
      underWay++;
      working++;
      reply.raw.once("close", () => leave(raw, place, reply.statusCode));
      done();
    },
    /** An onRequest hook, the last: while its body is on its way, a request is not worked on. */
    async awaitBody({ raw }: FastifyRequest) {
      const place = places.get(raw)!;
      if (place.isOver || raw.complete || raw.destroyed) return;
      place.isWorking = false;
      working--;
      waiting.add(raw);
    },
    /** Called when the body is there. */
    begin({ raw }: FastifyRequest) {
      const place = places.get(raw)!;
      if (place.isOver || place.isWorking) return;
      waiting.delete(raw);
      place.isWorking = true;
      place.sinceMs = performance.now();
      working++;
    },
  };
}
