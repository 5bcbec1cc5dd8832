// Records from a service or its mirrors. A record proves itself, so it does not matter who gives
// it: a source that is silent, slow or lies costs one more round trip, since all others are then
// asked at once.

import type { AddressRecord, Hex } from "../intent/intent.ts";
import { proveRecord } from "./answers.ts";
import { ServiceError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { send } from "./request.ts";
import { within } from "./within.ts";

/** How long one source is waited for alone. */
const slowMs = 2_000;

/** Gives what a source has, once it is proved, and rejects with anything else. */
type Ask<Found> = (baseUrl: string, signal: AbortSignal) => Promise<Found>;

/**
 * Asks the source that gave the last answer, and if it gives none, all others simultaneously. That
 * there is no record is no answer: a record proves itself, and its absence cannot be proved.
 *
 * @param baseUrls the service, then its mirrors
 */
export function openSources(baseUrls: readonly string[]) {
  let preferred = 0;

  /** @throws the service's own error where no source gives anything, or the signal's reason */
  return async <Found>(ask: Ask<Found>, signal?: AbortSignal): Promise<Found> => {
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

/**
 * Returns the record behind an address, from the service or a mirror. Undefined if the service has
 * none and no mirror gives one.
 */
export function lookupIn({ transport, mirrors, trust }: Settings) {
  const fromSources = openSources([transport.baseUrl, ...mirrors]);
  return async (asked: Hex, signal?: AbortSignal): Promise<AddressRecord | undefined> => {
    // Files of a mirror are named in lower case.
    const path = `/address/${mirrors.length > 0 ? asked.toLowerCase() : asked}`;
    const isAlone = mirrors.length === 0;
    const ask: Ask<AddressRecord> = async (baseUrl, signal) => {
      const once = { ...transport, baseUrl, retriesMax: 0 };
      return proveRecord(await send(once, { method: "GET", path, signal }), asked, trust);
    };
    return orNothing(async () => {
      if (!isAlone) return fromSources(ask, signal);
      return proveRecord(await send(transport, { method: "GET", path, signal }), asked, trust);
    });
  };
}
