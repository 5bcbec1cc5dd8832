// Decides which requests are refused because there are too many. Creates have a limit that follows
// their latency, other requests have a fixed limit, and each account or client has a rate limit.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Limiter, LimitVerdict, Policy } from "../../accounts/limits.ts";
import { Refusal, toAnswer } from "../errors.ts";
import type { Parts } from "../parts.ts";

/**
 * One admitted create. `isOver` is true after the create was answered or cut off, even while its
 * handler still runs.
 */
type AdmittedCreate = {
  raw: IncomingMessage;
  isWorking: boolean;
  isOver: boolean;
  sinceMs: number;
};

declare module "fastify" {
  interface FastifyRequest {
    /** Set when the create is admitted. */
    place?: AdmittedCreate;
  }
}

/** A request whose body takes longer can be cut off to make room for another request. */
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
 * @param most the limit of admitted creates, including creates whose bodies are still arriving
 * @param onShed called for each refused create
 */
export function openAdmission(most: number, onShed: () => void) {
  const limit = followLatency(most);
  /** The requests whose bodies are still arriving, oldest first. */
  const waiting = new Set<AdmittedCreate>();
  let inProgress = 0;
  let working = 0;

  const leave = (place: AdmittedCreate, statusCode: number) => {
    inProgress--;
    place.isOver = true;
    waiting.delete(place);
    if (!place.isWorking) return;
    working--;
    const nowMs = performance.now();
    if (statusCode === 200) limit.took(nowMs - place.sinceMs, nowMs);
  };

  /** Returns whether a new request must be refused. */
  const isFull = () => {
    limit.met(working + 1);
    return working >= limit.current() || (inProgress >= most && !slowestOf(waiting));
  };

  return {
    limit: () => Math.floor(limit.current()),
    isFull,
    /** Call this after {@link isFull} if the request was refused. */
    refused: onShed,
    /** An onRequest hook that admits or refuses a create. */
    enter(request: FastifyRequest, reply: FastifyReply, done: () => void) {
      if (isFull()) {
        onShed();
        return refuseTooMany(reply);
      }
      if (inProgress >= most) cutOff(slowestOf(waiting)!, waiting);
      const sinceMs = performance.now();
      const place = { raw: request.raw, isWorking: true, isOver: false, sinceMs };
      request.place = place;
      inProgress++;
      working++;
      whenAnswered(reply, () => leave(place, reply.statusCode));
      done();
    },
    /**
     * The last onRequest hook. While a create's body is arriving, the create does not count as
     * pending.
     */
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
    /** Called when the body is complete. */
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

/** Returns the oldest request if its body is late, so that it can be cut off for a new request. */
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
/** A window with fewer responses is too small to measure. */
const answersMin = 5;
/** The lowest limit. This number of creates shares one commit, so they hardly wait. */
const least = 16;
const atFirst = 256;
/** The accepted latency as a multiple of the latency at low load. */
const tolerance = 4;
/** A latency below this is never too high. */
const targetMsMin = 10;
/**
 * At low load, the base latency can rise by this factor per window, so it can double in two
 * minutes.
 */
const forgetting = 1.0006;
/**
 * At high load, the best throughput decays by this factor per window, so it halves in half a
 * minute.
 */
const slackening = 0.998;

/**
 * Opens a limit on pending requests that follows their latency.
 *
 * @param most the upper bound of the limit
 */
export function followLatency(most: number) {
  let limit = Math.min(atFirst, most);
  /** A moving average over windows, so that one unusual window has little effect. */
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
    // If few requests are pending, the latency depends on the machine and not on the number of
    // requests.
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
    /** Records that a request was admitted or refused, with this number of pending requests. */
    met(inProgress: number) {
      if (inProgress > busiest) busiest = inProgress;
    },
    /** Records that a request was answered. */
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

const message = "too many requests are in progress; try again in a second";
/**
 * The response to a request over the limit, prepared once, because an overloaded server mostly
 * refuses.
 */
export const tooMany = toAnswer(
  new Refusal("service_unavailable", message, { headers: { "retry-after": "1" } }),
);

function refuseTooMany(reply: FastifyReply): void {
  reply.code(tooMany.status).headers(tooMany.headers).send(tooMany.body);
}

/**
 * An onRequest or preHandler hook that allows at most `max` pending requests.
 * @param onShed called for each refused request
 */
export function budget(max: number, onShed: () => void) {
  let inProgress = 0;
  return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (inProgress >= max) {
      onShed();
      return refuseTooMany(reply);
    }
    inProgress++;
    whenAnswered(reply, () => {
      inProgress--;
    });
    done();
  };
}

/**
 * Calls `leave` once: when the request is answered, or when its connection closes before that. The
 * call does not wait until the response is delivered, so a client that does not read its response
 * does not occupy a slot.
 *
 * Callers count pending requests instead of keeping them in a Set. When V8 rebuilds a Set's table,
 * the old table refers to the new one. Once a table is in the old space, all later tables, and the
 * requests in them, are kept until a full collection. Only requests whose body is still arriving
 * are in a Set (`waiting` of {@link openAdmission}).
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
 * Counts a request against the limit `policy` of `whose`.
 *
 * @param what the beginning of the message, such as "too many checks"
 * @returns headers with the remaining requests
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
  if (!verdict.admitted) {
    const { burst, intervalMs } = policy;
    const limit = `expected at most ${burst} in a burst, and then one every ${intervalMs / 1000} s`;
    throw overLimit(`${what}: ${limit}`, verdict.retryMs, headers);
  }
  return headers;
}

/**
 * Returns the fields of draft-ietf-httpapi-ratelimit-headers. The full burst of `q` requests is
 * available after `w` seconds without requests. `r` requests are left now, and the full burst is
 * available in `t` seconds. After a refusal, `t` equals `Retry-After`, the time until the next
 * request is admitted.
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
 * Returns a 429 `rate_limited` refusal that says when the next request is admitted.
 *
 * @param more headers that replace the credential's rate limit headers, because the credential may
 *   have many requests left
 */
export function overLimit(
  what: string,
  retryMs: number,
  more: Record<string, string> = {},
): Refusal {
  const seconds = secondsOf(retryMs);
  return new Refusal("rate_limited", `${what}; try again in ${seconds} s`, {
    headers: { "retry-after": String(seconds), ...more },
  });
}
