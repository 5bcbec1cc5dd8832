// Decides which requests are refused because there are too many: creates by their latency, requests
// of other kinds by a fixed bound, and those of one account or client by its rate limit.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Limiter, LimitVerdict, Policy } from "../../accounts/limits.ts";
import { Refusal, toAnswer } from "../errors.ts";
import type { Parts } from "../parts.ts";
import { jsonType } from "../routes.ts";

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

const windowMs = 100;
/** A window with fewer answers is too small to measure by. */
const answersMin = 5;
/** The limit is never lower: so few share one commit and hardly wait for each other. */
const least = 16;
const atFirst = 256;
/** Latency may be so many times that of low load. */
const tolerance = 4;
/** A lower latency is never too much. */
const targetMsMin = 10;
/** At low load the base latency may rise by this factor a window: it doubles in two minutes. */
const forgetting = 1.0006;
/** At high load the best throughput decays by this factor: by half in half a minute. */
const slackening = 0.998;

/** @param most never above it */
export function followLatency(most: number) {
  let limit = Math.min(atFirst, most);
  /** A moving mean over windows, so that one unusual window decides nothing. */
  let smoothMs: number | undefined;
  let baseMs = Number.POSITIVE_INFINITY;
  let bestPerMs = 0;
  let busiest = 0;
  let count = 0;
  let sumMs = 0;
  let startedAtMs = 0;

  const adjust = (windowMs: number) => {
    const meanMs = sumMs / count;
    smoothMs = smoothMs === undefined ? meanMs : smoothMs + (meanMs - smoothMs) / 5;
    // With few requests under way, latency is the machine's own and not caused by their number.
    const isRelevant = busiest > limit / 2;
    baseMs = Math.min(smoothMs, isRelevant ? baseMs : baseMs * forgetting);
    bestPerMs = Math.max(count / windowMs, isRelevant ? bestPerMs * slackening : bestPerMs);
    if (!isRelevant) return;
    const targetMs = Math.max(targetMsMin, tolerance * baseMs);
    const factor = targetMs / meanMs;
    if (factor < 1) limit = Math.max(least, bestPerMs * targetMs, limit * Math.max(0.7, factor));
    else if (busiest >= limit) limit += Math.max(1, limit / 20);
    limit = Math.min(most, limit);
  };

  return {
    current: () => limit,
    /** One was let in or refused, with so many under way. */
    met(underWay: number) {
      if (underWay > busiest) busiest = underWay;
    },
    /** One was answered. */
    took(ms: number, nowMs: number) {
      count++;
      sumMs += ms;
      if (nowMs - startedAtMs < windowMs || count < answersMin) return;
      adjust(nowMs - startedAtMs);
      busiest = 0;
      count = 0;
      sumMs = 0;
      startedAtMs = nowMs;
    },
  };
}

const message = "too many requests are under way; try again in a second";
const { status, headers, body } = toAnswer(
  new Refusal("service_unavailable", message, { headers: { "retry-after": "1" } }),
);

/** The answer to a request above a bound, made once: an overloaded server mostly refuses. */
export const tooMany = {
  status,
  headers: {
    ...headers,
    "cache-control": "no-store",
    "content-type": jsonType,
  },
  body,
};

function refuseTooMany(reply: FastifyReply): void {
  reply.code(tooMany.status).headers(tooMany.headers).send(tooMany.body);
}

/**
 * An onRequest or preHandler hook that lets at most `max` requests be under way.
 * @param onShed called for each refused
 */
export function budget(max: number, onShed: () => void) {
  let underWay = 0;
  return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (underWay >= max) {
      onShed();
      return refuseTooMany(reply);
    }
    underWay++;
    whenAnswered(reply, () => {
      underWay--;
    });
    done();
  };
}

/**
 * Calls `leave` once: when the request is answered, or its connection ends before. It does not wait
 * for the answer to be delivered: a client that does not take it has no place.
 *
 * Callers count the requests under way and keep no Set of them. When V8 makes a Set's table anew,
 * the old table refers to the new one, and once one of them lies in the old space, all that follow
 * are kept until a full collection, with the requests in them.
 */
function whenAnswered({ raw }: FastifyReply, leave: () => void): void {
  let isOver = false;
  const over = () => {
    if (isOver) return;
    isOver = true;
    leave();
  };
  raw.on("prefinish", over).on("close", over);
}

/**
 * Counts one more request of `whose`.
 *
 * @param what there is too much of, for the message
 * @returns headers that tell what is left
 * @throws {Refusal} as {@link overLimit}
 */
export async function spend(
  limiter: Limiter,
  policy: Policy,
  whose: string,
  what: string,
): Promise<Record<string, string>> {
  const verdict = await limiter.take(`${policy.name} ${whose}`, policy);
  const headers = limitHeaders(verdict, policy);
  if (!verdict.admitted) throw overLimit(what, verdict.retryMs, headers);
  return headers;
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers: the burst `q` is whole again after `w`
 * seconds of rest; `r` requests are left now, and in `t` seconds all of them. After a refusal `t`
 * names the moment that `Retry-After` names: the next request is admitted then.
 */
function limitHeaders(
  { admitted, remaining, resetMs, retryMs }: LimitVerdict,
  { name, burst, intervalMs }: Policy,
): Record<string, string> {
  const seconds = admitted ? Math.ceil(resetMs / 1000) : secondsOf(retryMs);
  return {
    "ratelimit-policy": `"${name}";q=${burst};w=${(burst * intervalMs) / 1000}`,
    ratelimit: `"${name}";r=${remaining};t=${seconds}`,
  };
}

const secondsOf = (retryMs: number) => Math.max(1, Math.ceil(retryMs / 1000));

/**
 * 429 `rate_limited`, which says when the next one is admitted.
 *
 * @param more headers, in place of those about the credential, which may have much left
 */
export function overLimit(
  what: string,
  retryMs: number,
  more: Record<string, string> = {},
): Refusal {
  const seconds = secondsOf(retryMs);
  return new Refusal("rate_limited", `${what}: try again in ${seconds} s`, {
    headers: { "retry-after": String(seconds), ...more },
  });
}
