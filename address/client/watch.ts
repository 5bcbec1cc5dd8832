// Following an address: by the service's events where they come through, else by asking for its
// status again and again.

import type { Hex } from "../intent/intent.ts";
import { type AddressState, addressStates, type ServiceStatus } from "../status/shape.ts";
import { proveStatus } from "./answers.ts";
import { NetworkError, ServiceError, UnprovenError, WaitError } from "./errors.ts";
import { limitMsMax, parseCount } from "./options.ts";
import { backoffMs, parseJson, type Signal, send, sleep, type Transport } from "./request.ts";
import { readEvents } from "./stream.ts";
import { startBound } from "./within.ts";

export type WatchOptions = {
  readonly signal?: Signal;
  /** Between two questions where events do not come through. Default 5,000. */
  readonly pollMs?: number;
};

export type WaitOptions = WatchOptions & {
  /** How long to wait in all. Default 600,000: ten minutes. */
  readonly timeoutMs?: number;
};

/**
 * News of an address: its status, that the server is there and what its chain's newest
 * block is (`timestamp` in Unix seconds; undefined while none is known), or that its chain cannot
 * be read.
 */
export type Heard =
  | { readonly kind: "status"; readonly status: ServiceStatus }
  | { readonly kind: "ping"; readonly timestamp: number | undefined }
  | { readonly kind: "unavailable" };

type HearOptions = {
  readonly signal: Signal | undefined;
  readonly pollMs: number;
  /** So long without a byte, and a stream counts as lost. The service pings every 15 s. */
  readonly silenceMs: number;
};

/** After a stream that failed the status is asked for so often before a stream is tried again. */
const pollsBetween = 12;

/**
 * Whatever the service says of an address, as it comes, until the caller stops reading.
 *
 * @param address EIP-55
 * @throws {ServiceError} `not_found` where the service has no intent for it, {UnprovenError}, what
 *   asking for a status throws after its retries, or the signal's reason
 */
export async function* hear(
  transport: Transport,
  address: Hex,
  { signal, pollMs, silenceMs }: HearOptions,
): AsyncGenerator<Heard, void, undefined> {
  const path = `/address/${address}`;
  let lastId: string | undefined;
  for (let streams = 0; ; streams++) {
    try {
      const request = { path: `${path}/events`, lastId, silenceMs, signal };
      for await (const { name, data, id } of readEvents(transport, request)) {
        const heard = parseHeard(name, data, address);
        if (!heard) continue;
        if (heard.kind === "status" && /^[!-~]{1,200}$/.test(id)) lastId = id;
        streams = 0;
        yield heard;
      }
      await sleep(backoffMs(streams + 2), signal);
      if (streams === 0) continue;
    } catch (error) {
      if (!isWorthAsking(error)) throw error;
    }
    for (let polls = 0; polls < pollsBetween; polls++) {
      const answer = await send(transport, { method: "GET", path: `${path}/status`, signal });
      yield { kind: "status", status: proveStatus(answer, address) };
      await sleep(pollMs, signal);
    }
  }
}

/** @throws {UnprovenError} for a status that is not the address's */
function parseHeard(name: string, data: string, address: Hex): Heard | undefined {
  if (name === "unavailable") return { kind: "unavailable" };
  const value = parseJson(data);
  if (name === "status") return { kind: "status", status: proveStatus(value, address) };
  if (name !== "ping") return undefined;
  const { timestamp } = (value as { block?: { timestamp?: unknown } } | null)?.block ?? {};
  const isTime = Number.isSafeInteger(timestamp) && (timestamp as number) > 0;
  return { kind: "ping", timestamp: isTime ? (timestamp as number) : undefined };
}

/** A program that follows an address is in no hurry to give a stream up. */
const silenceMs = 60_000;

/**
 * The present status, then each change but of the block alone, until the caller stops reading.
 *
 * @param address EIP-55
 * @throws as {@link hear}
 */
export async function* watchStatus(
  transport: Transport,
  address: Hex,
  { signal, ...options }: WatchOptions,
): AsyncGenerator<ServiceStatus, void, undefined> {
  const pollMs = parseCount(options, "pollMs", 5_000, 1, limitMsMax);
  let last: string | undefined;
  for await (const heard of hear(transport, address, { signal, pollMs, silenceMs })) {
    if (heard.kind !== "status") continue;
    const { block, ...rest } = heard.status;
    const text = JSON.stringify(rest);
    if (text !== last) yield heard.status;
    last = text;
  }
}

/** Whether a status may be had though no events are. */
function isWorthAsking(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code !== "not_found";
  return error instanceof NetworkError;
}

/** From a closed state there is no way back; nothing follows `executed` or `recovered`. */
const reachable: Readonly<Record<string, readonly AddressState[]>> = {
  executed: [],
  recovered: [],
  expired: ["recovered"],
};

/**
 * The first status whose state is among `wanted`.
 *
 * @throws {WaitError} where it can no longer come to it, or has not in time; else as {@link
 *   watchStatus}
 */
export async function waitForState(
  transport: Transport,
  address: Hex,
  wanted: readonly AddressState[],
  { signal, timeoutMs, ...options }: WaitOptions,
): Promise<ServiceStatus> {
  if (wanted.length === 0 || wanted.some((state) => !addressStates.includes(state))) {
    const known = addressStates.join(", ");
    throw new TypeError(`state: expected one or more of ${known}, found ${JSON.stringify(wanted)}`);
  }
  const limitMs = parseCount({ timeoutMs }, "timeoutMs", 600_000, 1, limitMsMax);
  let seen: ServiceStatus | undefined;
  const names = wanted.join(" or ");
  const late = () => new WaitError("timeout", `not ${names} within ${limitMs} ms`, seen);
  const bound = startBound(signal, limitMs, late);
  try {
    for await (const status of watchStatus(transport, address, {
      ...options,
      signal: bound.signal,
    })) {
      seen = status;
      if (wanted.includes(status.state)) return status;
      const next = reachable[status.state];
      if (next && !wanted.some((state) => next.includes(state)))
        throw new WaitError(
          "never",
          `${address} is ${status.state} and will not be ${names}`,
          status,
        );
    }
    // Never told, since a watch has no end; the compiler does not know that.
    throw new UnprovenError(`the service stopped telling of ${address}`);
  } finally {
    bound.end();
  }
}
