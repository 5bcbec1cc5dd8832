// Watches an address through the service's server-sent events. If the stream does not work, polls
// the address's status.

import type { Hex } from "../../intent/intent.ts";
import { type AddressState, addressStates, type ServiceStatus } from "../../status/shape.ts";
import { proveStatus } from "../answers.ts";
import { NetworkError, ServiceError, UnprovenError, WaitError } from "../errors.ts";
import { limitMsMax, parseCount } from "../options.ts";
import { backoffMs, readJson, type Signal, send, sleep, type Transport } from "../request.ts";
import { startBound } from "../within.ts";
import { readEvents } from "./server-events.ts";

export type WatchOptions = {
  readonly signal?: Signal;
  /** The polling interval if the stream of events does not work. Default 5,000. */
  readonly pollMs?: number;
};

export type WaitOptions = WatchOptions & {
  /** The maximum total waiting time. Default 600,000 (ten minutes). */
  readonly timeoutMs?: number;
};

/** The options of a watch or a wait, with the defaults. */
export type WaitSettings = Required<Omit<WaitOptions, "signal">> & {
  readonly signal: Signal | undefined;
};

/** @throws {TypeError} unless each time is an integer from 1 to {@link limitMsMax} */
export const parseWait = (options: WaitOptions): WaitSettings => ({
  signal: options.signal,
  pollMs: parseCount(options, "pollMs", 5_000, 1, limitMsMax),
  timeoutMs: parseCount(options, "timeoutMs", 600_000, 1, limitMsMax),
});

/**
 * A message about an address: a status, a ping, or a notice of an unavailable chain. A ping
 * contains the `timestamp` of the chain's newest block (Unix seconds, undefined if unknown).
 */
export type StreamMessage =
  | { readonly kind: "status"; readonly status: ServiceStatus }
  | { readonly kind: "ping"; readonly timestamp: number | undefined }
  | { readonly kind: "unavailable" };

/** The interval at which the service sends a ping in each stream. */
export const pingMs = 15_000;

type MessageOptions = {
  readonly signal: Signal | undefined;
  readonly pollMs: number;
  /** A stream without a byte for this time is treated as lost. Must exceed {@link pingMs}. */
  readonly silenceMs: number;
};

/** The number of polls after a failed stream, before the client opens a stream again. */
const pollsBetween = 12;

/**
 * Yields every message about an address, until the caller stops reading.
 *
 * @param address in EIP-55 case
 * @throws {ServiceError} `not_found` if the service has no intent for the address
 * @throws {UnprovenError} if an answer is invalid. Also throws the error of a status request that
 *   failed after its retries, or the signal's reason
 */
export async function* readMessages(
  transport: Transport,
  address: Hex,
  { signal, pollMs, silenceMs }: MessageOptions,
): AsyncGenerator<StreamMessage, void, undefined> {
  const path = `/address/${address}`;
  let lastId: string | undefined;
  for (let streams = 0; ; streams++) {
    try {
      const request = { path: `${path}/events`, lastId, silenceMs, signal };
      for await (const { name, data, id } of readEvents(transport, request)) {
        const message = readMessage(name, data, address);
        if (!message) continue;
        if (message.kind === "status" && /^[!-~]{1,200}$/.test(id)) lastId = id;
        streams = 0;
        yield message;
      }
      await sleep(backoffMs(streams + 2), signal);
      if (streams === 0) continue;
    } catch (error) {
      if (!isRetryable(error)) throw error;
    }
    for (let polls = 0; polls < pollsBetween; polls++) {
      const answer = await send(transport, { method: "GET", path: `${path}/status`, signal });
      yield { kind: "status", status: proveStatus(answer, address) };
      await sleep(pollMs, signal);
    }
  }
}

/** @throws {UnprovenError} for a status of a different address */
function readMessage(name: string, data: string, address: Hex): StreamMessage | undefined {
  if (name === "unavailable") return { kind: "unavailable" };
  const value = readJson(data);
  if (name === "status") return { kind: "status", status: proveStatus(value, address) };
  if (name !== "ping") return undefined;
  const { timestamp } = (value as { block?: { timestamp?: unknown } } | null)?.block ?? {};
  const isTime = Number.isSafeInteger(timestamp) && (timestamp as number) > 0;
  return { kind: "ping", timestamp: isTime ? (timestamp as number) : undefined };
}

/** The time after which a stream without messages counts as lost. A page uses a shorter time. */
const silenceMs = 4 * pingMs;

/**
 * Yields the current status, and then each changed status, until the caller stops reading. A status
 * in which only the block is different counts as unchanged.
 *
 * @param address in EIP-55 case
 * @throws the errors of {@link readMessages}
 */
export async function* watchStatus(
  transport: Transport,
  address: Hex,
  { signal, pollMs }: WaitSettings,
): AsyncGenerator<ServiceStatus, void, undefined> {
  let last: string | undefined;
  for await (const message of readMessages(transport, address, { signal, pollMs, silenceMs })) {
    if (message.kind !== "status") continue;
    const { block, ...rest } = message.status;
    const text = JSON.stringify(rest);
    if (text !== last) yield message.status;
    last = text;
  }
}

/** Returns whether polling can succeed after a stream failed with `error`. */
function isRetryable(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code !== "not_found";
  return error instanceof NetworkError;
}

/**
 * Maps each of three states to the states that an address can reach afterwards. From any other
 * state, an address may reach every state.
 */
const reachable: Readonly<Record<string, readonly AddressState[]>> = {
  executed: [],
  recovered: [],
  expired: ["recovered"],
};

/**
 * Returns the first status whose state is one of `states`.
 *
 * @throws {WaitError} if the address cannot reach these states, or does not reach them in time
 * @throws the errors of {@link watchStatus}
 */
export async function waitForState(
  transport: Transport,
  address: Hex,
  states: readonly AddressState[],
  settings: WaitSettings,
): Promise<ServiceStatus> {
  if (states.length === 0 || states.some((state) => !addressStates.includes(state))) {
    const known = addressStates.join(", ");
    throw new TypeError(`state: expected one or more of ${known}, found ${JSON.stringify(states)}`);
  }
  let seen: ServiceStatus | undefined;
  const names = states.join(" or ");
  const late = () =>
    new WaitError("timeout", `${address} is not ${names} after ${settings.timeoutMs} ms`, seen);
  const bound = startBound(settings.signal, settings.timeoutMs, late);
  try {
    for await (const status of watchStatus(transport, address, {
      ...settings,
      signal: bound.signal,
    })) {
      seen = status;
      if (states.includes(status.state)) return status;
      const next = reachable[status.state];
      if (next && !states.some((state) => next.includes(state)))
        throw new WaitError(
          "never",
          `${address} is ${status.state} and can never be ${names}`,
          status,
        );
    }
    // This line is never reached: the loop ends only with a return or an error.
    throw new UnprovenError(`the stream of ${address} ended`);
  } finally {
    bound.end();
  }
}
