// Requests records from a service or its mirrors, for the client and for pages. A record proves
// itself, so it does not matter who gives it: a source that is silent, slow or lies costs one more
// round trip, since all others are then asked at once.

import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { proveRecord } from "./answers.ts";
import type { Call } from "./call.ts";
import { ServiceError, UnprovenError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { type Signal, send } from "./request.ts";
import { within } from "./within.ts";

/** How long one source is waited for alone. */
const slowMs = 2_000;

/** Gives what a source has, once it is proved, and rejects with anything else. */
type Ask<Found> = (baseUrl: string, signal: Signal) => Promise<Found>;

/**
 * Asks the source that gave the last answer, and if it gives none, all others simultaneously. That
 * there is no record is no answer: a record proves itself, and its absence cannot be proved.
 *
 * @param baseUrls the service, then its mirrors
 */
function openSources(baseUrls: readonly string[]) {
  let preferred = 0;

  /** @throws the service's own error where no source gives anything, or the signal's reason */
  return async <Found>(ask: Ask<Found>, signal?: Signal): Promise<Found> => {
    const stopping = new AbortController();
    const stop = () => stopping.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    const asked = new Map<number, Promise<Found>>();
    const start = (index: number) => {
      const answer = ask(baseUrls[index]!, stopping.signal).then((found) => {
        preferred = index;
        return found;
      });
      answer.catch(() => {});
      asked.set(index, answer);
      return answer;
    };
    try {
      signal?.throwIfAborted();
      const chosen = preferred;
      const early = await within(slowMs, start(chosen));
      if (early && "found" in early) return early.found;
      for (const index of baseUrls.keys()) if (index !== chosen) start(index);
      return await Promise.any(asked.values());
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AggregateError) return await asked.get(0)!;
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      stopping.abort();
    }
  };
}

/** No record of the address; another 404 is of another route, so of a wrong `baseUrl`. */
const isNothingThere = (error: unknown) =>
  error instanceof ServiceError && error.status === 404 && error.code === "not_found";

/** Undefined where the service has nothing there. */
export async function orNothing<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isNothingThere(error)) return undefined;
    throw error;
  }
}

/** Requests the JSON at a path of a source. */
type Get = (baseUrl: string, path: string, signal: Signal) => Promise<unknown>;

/** Returns a function that requests a record by the `get` that it is given, and proves it. */
function openRecords(baseUrls: readonly string[], trust: Parameters<typeof proveRecord>[2]) {
  const fromSources = openSources(baseUrls);
  return (address: Hex, get: Get, signal?: Signal): Promise<AddressRecord> => {
    // Files of a mirror are named in lower case.
    const path = `/address/${baseUrls.length > 1 ? address.toLowerCase() : address}`;
    return fromSources(
      async (baseUrl, signal) => proveRecord(await get(baseUrl, path, signal), address, trust),
      signal,
    );
  };
}

/**
 * Returns the record behind an address, from the service or a mirror. Undefined if the service has
 * none and no mirror gives one.
 */
export function lookupIn({ transport, mirrors, trust }: Settings) {
  const find = openRecords([transport.baseUrl, ...mirrors], trust);
  return (address: Hex, { transport, signal }: Call) => {
    // A mirror is asked instead of the same source again.
    const { retriesMax } = mirrors.length > 0 ? { retriesMax: 0 } : transport;
    const get: Get = (baseUrl, path, signal) =>
      send({ ...transport, baseUrl, retriesMax }, { method: "GET", path, signal });
    return orNothing(() => find(address, get, signal));
  };
}

/** A record for a page: proved, or why there is none. `error` says what does not match. */
export type FoundRecord =
  | { kind: "record"; record: AddressRecord }
  | { kind: "wrong"; error: unknown }
  | { kind: "missing" | "unreachable" };

/**
 * Requests a record for a page and proves it. Never throws. If no source gives a record that is the
 * address's own, the result is the first source's.
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
    // Text that is no JSON is a wrong record. An answer that breaks off is none.
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
