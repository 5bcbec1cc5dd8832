// Intents and records as the interface spells them. spec/service.md §2.

import type { Hex } from "../hex.ts";

export type { Hex };

/** One contract call. Arguments in signature order, each a string: see spec/terms.md. */
export type Call = {
  readonly target: Hex;
  readonly function: string;
  readonly args: readonly string[];
};

/** spec §2.2. `amount` in base units, `expirationTimestamp` in Unix seconds, `salt` 32 bytes. */
export type Intent = {
  readonly token: Hex;
  readonly amount: string;
  readonly calls: readonly Call[];
  readonly expirationTimestamp: number;
  readonly recovery: Hex;
  readonly salt: Hex;
  readonly chainId: number;
};

/** spec §2.1. Addresses in EIP-55 checksum case, every other hex lower case. */
export type AddressRecord = {
  readonly address: Hex;
  readonly factory: Hex;
  readonly intent: Intent;
  readonly terms: Hex;
};
