// The database for all operations, and values that several operations use.

import { type Hex, toHex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import type { Store } from "../../../store/store.ts";
import { addressOf } from "../account.ts";

/** The operations, by name. Each operation can run several times. */
export type Operations = Record<string, () => Promise<unknown>>;

/**
 * `size` is the number of rows that the account `many` has. `crowd` is the number of addresses, or
 * other items, in a bulk operation.
 */
export type World = { store: Store; size: number; nowMs: number; crowd: number };

export const actor = { atMs: 1 };
export const someAddresses = (count: number, account: "many" | "large" = "many") =>
  Array.from({ length: count }, (_, number) => addressOf(number, account));
export const hexOf = (addresses: Buffer[]): Hex[] => addresses.map((each) => toHex(each));
export const none = Buffer.alloc(20, 0xee);

export const statusOf = (address: Hex, change: object = {}) =>
  ({
    ...{ address, state: "funded", chainId: 1, token: toHex(Buffer.alloc(20)), amount: "1" },
    ...{ balance: "1", recoverable: [], execution: null, recoveries: [], ...change },
    ...{ expirationTimestamp: 9, block: { number: 5, hash: "0x", timestamp: 9_000 } },
  }) as unknown as AddressStatus;
