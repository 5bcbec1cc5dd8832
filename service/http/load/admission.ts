// Refuses requests with 503 if too many requests are pending. For create requests, the maximum
// number of pending requests depends on their latency (`openLatencyLimit`). For other routes, the
// maximum number of pending requests is constant (`limitPending`). Rate limits are in
// rate-limit.ts.

import type { IncomingMessage, RequestListener } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { statuses, toAnswer, unavailable } from "../errors.ts";
import { corsHeaders } from "../headers.ts";
import type { Metrics } from "../metrics.ts";
import type { Parts } from "../parts.ts";

/**
 * An admitted create request. The state is `over` after the response is written or the connection
 * closes. The handler may still be running then. `sinceMs` is the time of the admission, or of the
 * end of a body that arrived later.
 */
type AdmittedCreate = {
  raw: IncomingMessage;
  state: "working" | "awaitingBody" | "over";
  sinceMs: number;
};

declare module "fastify" {
  interface FastifyRequest {
    /** Set when a create request is admitted. */
    admitted?: AdmittedCreate;
  }
}

/**
 * The minimum time that an admitted request has to send its body. Afterwards, its connection may be
 * closed to accept a new request.
 */
const bodyMsMin = 1_000;

export type Admission = ReturnType<typeof openAdmission>;

/**
 * Returns the object that admits or refuses create requests. Reports the number of refusals and the
 * limit as metrics.
 */
export function admitCreates({ limits, metrics }: Pick<Parts, "limits" | "metrics">): Admission {
  const refused = metrics.shed.labels("create");
  const admission = openAdmission(limits.createsInFlightMax, () => {
    refused.inc();
    metrics.createsAdmitted.set(admission.limit());
  });
  return admission;
}

/**
 * @param most the maximum number of admitted create requests, including requests whose bodies are
 *   still arriving
 * @param onShed called for each refused request
 * @param clock returns milliseconds and never goes back
 */
export function openAdmission(most: number, onShed: () => void, clock = () => performance.now()) {
  const limit = openLatencyLimit(most);
  /** The requests whose bodies are still arriving. The first has waited longest. */
  const awaitingBody = new Set<AdmittedCreate>();
  let [inProgress, working] = [0, 0];

  const leave = (admitted: AdmittedCreate, statusCode: number) => {
    const { state } = admitted;
    inProgress--;
    admitted.state = "over";
    awaitingBody.delete(admitted);
    if (state !== "working") return;
    working--;
    const nowMs = clock();
    if (statusCode === 200) limit.recordLatency(nowMs - admitted.sinceMs, nowMs);
  };

  /** Returns the message of the refusal if a new request would exceed a limit. */
  const findFull = (): string | undefined => {
    if (working >= limit.current()) return exceeded("create", limit.current(), working + 1);
    if (inProgress < most || slowestOf(awaitingBody, clock())) return undefined;
    return `${exceeded("create", most, inProgress + 1)} (incomplete bodies: ${awaitingBody.size})`;
  };

  return {
    limit: limit.current,
    findFull,
    /** Must be called for each request that was refused because of {@link findFull}. */
    refused() {
      limit.recordPending(working + 1);
      onShed();
    },
    /** An onRequest hook that admits or refuses a create request. */
    enter(request: FastifyRequest, reply: FastifyReply, done: () => void) {
      limit.recordPending(working + 1);
      const full = findFull();
      if (full) {
        onShed();
        return refuseTooMany(reply, full);
      }
      if (inProgress >= most) cutOff(slowestOf(awaitingBody, clock())!, awaitingBody);
      request.admitted = { raw: request.raw, state: "working", sinceMs: clock() };
      inProgress++;
      working++;
      whenAnswered(reply, () => leave(request.admitted!, reply.statusCode));
      done();
    },
    /**
     * An onRequest hook. If the body is still arriving, the request is not pending until `begin` is
     * called. Must be the last onRequest hook.
     */
    awaitBody(request: FastifyRequest, _reply: FastifyReply, done: () => void) {
      const admitted = request.admitted!;
      if (admitted.state === "over" || request.raw.complete || request.raw.destroyed) return done();
      admitted.state = "awaitingBody";
      working--;
      awaitingBody.add(admitted);
      done();
    },
    /** Must be called when the body is complete. */
    begin(request: FastifyRequest) {
      const admitted = request.admitted!;
      if (admitted.state !== "awaitingBody") return;
      awaitingBody.delete(admitted);
      admitted.state = "working";
      admitted.sinceMs = clock();
      working++;
    },
  };
}

/**
 * Returns the request that has waited longest for its body, if it was admitted at least
 * {@link bodyMsMin} ago.
 */
function slowestOf(awaitingBody: Set<AdmittedCreate>, nowMs: number): AdmittedCreate | undefined {
  const [oldest] = awaitingBody;
  return oldest && nowMs - oldest.sinceMs >= bodyMsMin ? oldest : undefined;
}

function cutOff(slow: AdmittedCreate, awaitingBody: Set<AdmittedCreate>): void {
  awaitingBody.delete(slow);
  slow.raw.socket.destroy();
}

const exceeded = (route: string, max: number, found: number) =>
  `expected at most ${max} simultaneous requests for "${route}", found ${found}`;

const answerTooMany = (full: string) => toAnswer(unavailable(`${full}: try again in a second`, 1));

function refuseTooMany(reply: FastifyReply, full: string): void {
  const { status, headers, body } = answerTooMany(full);
  reply.code(status).headers(headers).send(body);
}

/**
 * The encoding of the headers and the body, which are ASCII. With this encoding, Node sends the
 * headers and the body in one write.
 */
const encoding = "latin1";

type EarlyParts = Pick<Parts, "metrics" | "draining"> & {
  /** The path of create requests, which is compared without decoding percent-encoding. */
  createPath: string;
  newRequestId: () => string;
};

/**
 * Returns a listener that refuses create requests above the limit before the framework parses them.
 * The returned listener passes all other requests to `listener`. The framework's hooks do not run
 * for a refused request. Instead, the returned listener adds the headers and counts the response.
 * During a drain, it closes the connection.
 *
 * @param listener the framework's listener. It must enforce the same limit, because all create
 *   requests with percent-encoded paths are passed to it.
 */
export function refuseEarly(
  listener: RequestListener,
  creates: Admission,
  { createPath: route, newRequestId, metrics, draining }: EarlyParts,
): RequestListener {
  const seconds = metrics.responseSeconds.labels({ route });
  const responses = metrics.responses.labels({ route, status: statuses.service_unavailable });
  // Consecutive refusals usually have the same message. If each refusal created its own response, a
  // create request would use three times the processor time during an overload
  // (overload.long.test.ts).
  let last = { full: "", answer: answerTooMany("") };
  const isCreate = ({ method, url }: IncomingMessage) =>
    method === "POST" && (url === route || url?.startsWith(`${route}?`) === true);
  return (request, response) => {
    const full = isCreate(request) ? creates.findFull() : undefined;
    if (!full) return listener(request, response);
    if (last.full !== full) last = { full, answer: answerTooMany(full) };
    const { status, headers, body } = last.answer;
    response.writeHead(status, {
      "x-request-id": newRequestId(),
      ...(draining.aborted && { connection: "close" }),
      ...headers,
      ...corsHeaders,
      "content-length": body.length,
    });
    response.end(body, encoding);
    creates.refused();
    responses.inc();
    seconds.observe(0);
  };
}

/**
 * Returns an onRequest or preHandler hook that allows at most `max` pending requests.
 *
 * @param route the name of the route in the message and in the metrics
 */
export function limitPending({ shed }: Pick<Metrics, "shed">, route: string, max: number) {
  let inProgress = 0;
  return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (inProgress >= max) {
      shed.inc({ route });
      return refuseTooMany(reply, exceeded(route, max, inProgress + 1));
    }
    inProgress++;
    whenAnswered(reply, () => {
      inProgress--;
    });
    done();
  };
}

/**
 * Calls `leave` once, when the response is written or the connection closes. Does not wait until
 * the client has received the response. Otherwise, the request of a client that reads nothing would
 * remain pending.
 *
 * Callers should count pending requests instead of storing them in a Set. A Set can keep finished
 * requests in memory until a full garbage collection. The only exception is {@link openAdmission},
 * which stores requests in a Set while their bodies are arriving.
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

/** The length of a window. The limit is adjusted after each window. */
const windowMs = 100;
/** The initial limit, which bounds the latency at the beginning of the first overload. */
const limitAtStart = 256;
/** The highest acceptable latency, as a multiple of the latency at low load. */
const latencyFactorMax = 4;
/** The weight of a new window in the moving average of the latency. */
const windowWeight = 1 / 5;
/** The maximum factor by which the limit increases after a window. */
const stepMax = 1.05;
/**
 * `baseMs` is an estimate of the latency at low load. In each window with low load, the estimate
 * can rise by the factor `baseGrowth`. At this rate, the estimate doubles in about two minutes.
 */
const baseGrowth = 1.0006;
/**
 * `bestPerMs` is the best measured throughput. After each window with high load, `bestPerMs` is
 * multiplied by `bestDecay`. Therefore, `bestPerMs` halves in about half a minute, unless a window
 * has a higher throughput.
 */
const bestDecay = 0.998;

/**
 * Returns a limit on the number of pending requests. The limit adapts to the latency of the
 * requests. If the latency is too high, sets the limit by Little's law. The limit is then the best
 * throughput times the highest acceptable latency.
 *
 * The tests in admission.test.ts send three times the load that a service can serve. With the
 * constants above, the service keeps at least 90 % of its throughput. The 99th percentile of the
 * latency is at most five times the value at low load. A higher `latencyFactorMax` or `stepMax`
 * would increase this latency.
 *
 * @param most the highest number of pending requests that the limit may allow
 */
export function openLatencyLimit(most: number) {
  let limit = Math.min(limitAtStart, most);
  /** The moving average of the latency. One unusual window hardly changes this average. */
  let smoothMs: number | undefined;
  /** The latency at low load. */
  let baseMs = Number.POSITIVE_INFINITY;
  /** The best measured throughput. A short stall of the service lowers this value only a little. */
  let bestPerMs = 0;
  let pendingMax = 0;
  let count = 0;
  let sumMs = 0;
  let startedAtMs = 0;

  const adjust = (ms: number) => {
    const meanMs = sumMs / count;
    smoothMs = smoothMs === undefined ? meanMs : smoothMs + (meanMs - smoothMs) * windowWeight;
    // At low load, the latency does not depend on the number of pending requests.
    const isHighLoad = pendingMax > limit / 2;
    baseMs = Math.min(smoothMs, isHighLoad ? baseMs : baseMs * baseGrowth);
    bestPerMs = Math.max(count / ms, isHighLoad ? bestPerMs * bestDecay : bestPerMs);
    if (!isHighLoad) return;
    const targetMs = latencyFactorMax * baseMs;
    if (meanMs > targetMs) limit = bestPerMs * targetMs;
    else if (pendingMax >= limit) limit *= stepMax;
    limit = Math.min(most, limit);
  };

  return {
    /** Returns the maximum number of pending requests. */
    current: () => Math.ceil(limit),
    /**
     * Records the number of pending requests at the arrival of a request, including this request.
     */
    recordPending(pending: number) {
      if (pending > pendingMax) pendingMax = pending;
    },
    /** Records the latency of a request. */
    recordLatency(ms: number, nowMs: number) {
      count++;
      sumMs += ms;
      if (nowMs - startedAtMs < windowMs) return;
      adjust(nowMs - startedAtMs);
      pendingMax = 0;
      count = 0;
      sumMs = 0;
      startedAtMs = nowMs;
    },
  };
}
