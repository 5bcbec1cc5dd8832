// Decodes the factory's calls in the calldata of a transaction, and derives their addresses.

import { decodeExecutions, type Hex, makeRecord } from "executable-address";
import { lowerAddress } from "../../flow/lower-address.ts";

/**
 * Returns the name and the address of each call in `data`, in order. For an invalid item of a
 * batch, returns the item's error.
 *
 * @param data calldata of one call or of a batch
 * @returns `vault` is lowercase
 * @throws {InvalidError} if `data` is not calldata of the factory
 */
export const decodeFactoryCalls = (data: Hex, factory: Hex) =>
  decodeExecutions(data).map((call) => {
    if ("error" in call) return call;
    return { name: call.name, vault: lowerAddress(makeRecord(call.intent, { factory }).address) };
  });
