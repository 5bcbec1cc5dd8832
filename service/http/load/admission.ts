// Overload: the number of creates that may be worked on at once follows their latency. Above it, a
// create is refused at once, before its body is read, so that the admitted ones are answered soon.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Parts } from "../parts.ts";
import { refuseTooMany, whenAnswered } from "./budget.ts";
import { followLatency } from "./follow-latency.ts";

/** One admitted create. `isOver`: it was answered or cut off, though its handler may still run. */
type AdmittedCreate = {
  raw: IncomingMessage;
  isWorking: boolean;
  isOver: boolean;
  sinceMs: number;
};

declare module "fastify" {
  interface FastifyRequest {
    /** Set when it is admitted. */
    place?: AdmittedCreate;
  }
}

/** A request whose body takes longer may be cut off to give its place to another. */
const bodyMsMin = 1_000;

export type Admission = ReturnType<typeof openAdmission>;

/** Opens the admission of creates and counts its refusals. */
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
  /** The requests whose bodies are on their way, oldest first. */
  const waiting = new Set<AdmittedCreate>();
  let underWay = 0;
  let working = 0;

  const leave = (place: AdmittedCreate, statusCode: number) => {
    underWay--;
    place.isOver = true;
    waiting.delete(place);
    if (!place.isWorking) return;
    working--;
    const nowMs = performance.now();
    if (statusCode === 200) limit.took(nowMs - place.sinceMs, nowMs);
  };

  /** Whether a request that comes now has to be refused. */
  const isFull = () => {
    limit.met(working + 1);
    return working >= limit.current() || (underWay >= most && !slowestOf(waiting));
  };

  return {
    limit: () => Math.floor(limit.current()),
    isFull,
    /** Call it after {@link isFull} when the request was refused. */
    refused: onShed,
    /** An onRequest hook. */
    enter(request: FastifyRequest, reply: FastifyReply, done: () => void) {
      if (isFull()) {
        onShed();
        return refuseTooMany(reply);
      }
      if (underWay >= most) cutOff(slowestOf(waiting)!, waiting);
      const sinceMs = performance.now();
      const place = { raw: request.raw, isWorking: true, isOver: false, sinceMs };
      request.place = place;
      underWay++;
      working++;
      whenAnswered(reply, () => leave(place, reply.statusCode));
      done();
    },
    /** An onRequest hook, the last: while its body is on its way, a request is not worked on. */
    awaitBody(request: FastifyRequest, _reply: FastifyReply, done: () => void) {
      const place = request.place!;
      const { raw, isOver } = place;
      if (!isOver && !raw.complete && !raw.destroyed) {
        place.isWorking = false;
        working--;
        waiting.add(place);
      }
      done();
    },
    /** Called when the body is there. */
    begin(request: FastifyRequest) {
      const place = request.place!;
      if (place.isOver || place.isWorking) return;
      waiting.delete(place);
      place.isWorking = true;
      place.sinceMs = performance.now();
      working++;
    },
  };
}

/** The oldest request whose body is late, which may be cut off for a new one. */
function slowestOf(waiting: Set<AdmittedCreate>): AdmittedCreate | undefined {
  const [oldest] = waiting;
  const isSlow = oldest && performance.now() - oldest.sinceMs >= bodyMsMin;
  return isSlow ? oldest : undefined;
}

function cutOff(slow: AdmittedCreate, waiting: Set<AdmittedCreate>): void {
  waiting.delete(slow);
  slow.raw.socket.destroy();
}
