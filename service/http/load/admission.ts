// Overload: the number of creates that may be worked on at once follows their latency. Above it, a
// create is refused at once, before its body is read, so that the admitted ones are answered soon.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Parts } from "../parts.ts";
import { followLatency } from "./follow-latency.ts";
import { shed } from "./shed.ts";
import { whenAnswered } from "./when-answered.ts";

/** One admitted create. `isOver`: it was answered or cut off, though its handler may still run. */
type Place = { isWorking: boolean; isOver: boolean; sinceMs: number };

/** A request whose body takes longer may be cut off to give its place to another. */
const bodyMsMin = 1_000;

export type Admission = ReturnType<typeof openAdmission>;

/** Of creates, whose refusals are counted. */
export function admitCreates({ limits, metrics }: Pick<Parts, "limits" | "metrics">): Admission {
  const refused = metrics.shed.labels("create");
  const admission = openAdmission(limits.createsInFlightMax, () => {
    refused.inc();
    metrics.createsAdmitted.set(admission.limit());
  });
  return admission;
}

/**
 * @param most admitted at once, those whose bodies are still on their way included
 * @param onShed told of each that is refused
 */
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

  /** The oldest request whose body is late, which may be cut off for a new one. */
  const slowest = (): IncomingMessage | undefined => {
    const [oldest] = waiting;
    const isSlow = oldest && performance.now() - places.get(oldest)!.sinceMs >= bodyMsMin;
    return isSlow ? oldest : undefined;
  };

  const cut = (slow: IncomingMessage) => {
    waiting.delete(slow);
    slow.socket.destroy();
  };

  /** Whether a request that comes now has to be refused. */
  const isFull = () => {
    limit.met(working + 1);
    return working >= limit.current() || (underWay >= most && !slowest());
  };

  return {
    limit: () => Math.floor(limit.current()),
    isFull,
    /** To be called by a caller of {@link isFull} that refused a request. */
    refused: onShed,
    /** An onRequest hook. */
    enter({ raw }: FastifyRequest, reply: FastifyReply, done: () => void) {
      if (isFull()) {
        onShed();
        return void shed(reply);
      }
      if (underWay >= most) cut(slowest()!);
      const place = { isWorking: true, isOver: false, sinceMs: performance.now() };
      places.set(raw, place);
      underWay++;
      working++;
      whenAnswered(reply, () => leave(raw, place, reply.statusCode));
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
