// Requests records from a service or its mirrors, for the client and for pages. Records can be
// verified, so one honest source is sufficient. If a source is slow, unreachable, or wrong, the
// request goes to all other sources simultaneously.

import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { proveRecord } from "./answers.ts";
import type { Call } from "./call.ts";
import { ServiceError, UnprovenError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { type Signal, send } from "./request.ts";
import { within } from "./within.ts";

/**
 * If the preferred source does not answer within this time, all other sources receive the request.
 */
const slowMs = 2_000;

/** Requests a result from a source and verifies the result. Rejects if there is no valid result. */
type Ask<Found> = (baseUrl: string, signal: Signal) => Promise<Found>;

/**
 * Returns a function that first asks the source that answered most recently. If that source gives
 * no valid answer in time, the function asks all other sources simultaneously. A `not_found` is not
 * a valid answer, because a record's absence cannot be proved.
 *
 * @param baseUrls the service, then its mirrors
 */
function openSources(baseUrls: readonly string[]) {
  let preferred = 0;

  /** @throws the service's error if no source answers; the signal's reason if the signal aborts */
  return async <Found>(ask: Ask<Found>, signal?: Signal): Promise<Found> => {
    const stopping = new AbortController();
    const stop = () => stopping.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    const started = new Map<number, Promise<Found>>();
    const start = (index: number) => {
      const answer = ask(baseUrls[index]!, stopping.signal).then((found) => {
        preferred = index;
        return found;
      });
      answer.catch(() => {});
      started.set(index, answer);
      return answer;
    };
    try {
      signal?.throwIfAborted();
      const chosen = preferred;
      const early = await within(slowMs, start(chosen));
      if (early && "found" in early) return early.found;
      for (const index of baseUrls.keys()) if (index !== chosen) start(index);
      return await Promise.any(started.values());
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AggregateError) return await started.get(0)!;
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      stopping.abort();
    }
  };
}

/**
 * Returns whether the error means that the service has no record. A 404 response with a different
 * code means that `baseUrl` is wrong.
 */
const isNotFound = (error: unknown) =>
  error instanceof ServiceError && error.status === 404 && error.code === "not_found";

/** Calls `ask`, and returns undefined if the service has no record. */
export async function orUndefined<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Requests a path from a source, and returns the JSON of the response. */
type Get = (baseUrl: string, path: string, signal: Signal) => Promise<unknown>;

/** Returns a function that requests a record with `get` and verifies it. */
function openRecords(baseUrls: readonly string[], trust: Parameters<typeof proveRecord>[2]) {
  const fromSources = openSources(baseUrls);
  return (address: Hex, get: Get, signal?: Signal): Promise<AddressRecord> => {
    // A mirror serves files, whose names contain the address in lowercase.
    const path = `/address/${baseUrls.length > 1 ? address.toLowerCase() : address}`;
    return fromSources(
      async (baseUrl, signal) => proveRecord(await get(baseUrl, path, signal), address, trust),
      signal,
    );
  };
}

/**
 * Returns the record of an address, from the service or a mirror. Returns undefined if neither the
 * service nor a mirror returns a record.
 */
export function lookupIn({ transport, mirrors, trust }: Settings) {
  const find = openRecords([transport.baseUrl, ...mirrors], trust);
  return (address: Hex, { transport, signal }: Call) => {
    // With mirrors, the client does not retry a failed request, but asks the other sources.
    const { retriesMax } = mirrors.length > 0 ? { retriesMax: 0 } : transport;
    const get: Get = (baseUrl, path, signal) =>
      send({ ...transport, baseUrl, retriesMax }, { method: "GET", path, signal });
    return orUndefined(() => find(address, get, signal));
  };
}

/**
 * A verified record for a page, or the reason why the page has no such record. `error` explains why
 * a received record is wrong.
 */
export type FoundRecord =
  | { kind: "record"; record: AddressRecord }
  | { kind: "wrong"; error: unknown }
  | { kind: "missing" | "unreachable" };

/**
 * Requests a record for a page and verifies the record. Never throws. If no source gives a valid
 * record, returns the result of the first source.
 *
 * @param baseUrls the service, then its mirrors
 */
export async function findRecord(
  baseUrls: readonly string[],
  address: Hex,
  signal: Signal,
): Promise<FoundRecord> {
  const find = openRecords(baseUrls, { factory: factoryAddress });
  const get: Get = async (baseUrl, path, signal) => {
    const answer = await fetch(`${baseUrl}${path}`, { signal });
    if (!answer.ok) throw new NoRecord(answer.status);
    // Returns undefined for a complete response that is not JSON. The source then counts as
    // `wrong`. Throws for an interrupted response, so that the source counts as `unreachable`.
    return answer.json().catch((error) => {
      if (!(error instanceof SyntaxError)) throw error;
    });
  };
  try {
    return { kind: "record", record: await find(address, get, signal) };
  } catch (error) {
    if (error instanceof UnprovenError) return { kind: "wrong", error: error.cause };
    return { kind: error instanceof NoRecord && error.status === 404 ? "missing" : "unreachable" };
  }
}

class NoRecord extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`HTTP ${status}`);
    this.status = status;
  }
}
