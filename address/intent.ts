// What an intent is, as the interface spells it. spec/service.md §2.

export type Hex = `0x${string}`;

/** One contract call. Arguments in signature order, each a string: see spec/terms.md. */
export type Call = { target: Hex; function: string; args: string[] };

/** spec §2.2. `amount` in base units, `expirationTimestamp` in Unix seconds, `salt` 32 bytes. */
export type Intent = {
  token: Hex;
  amount: string;
  calls: Call[];
  expirationTimestamp: number;
  recovery: Hex;
  salt: Hex;
  chainId: number;
};

/** spec §2.1. Addresses in EIP-55 checksum case, every other hex lower case. */
export type AddressRecord = { address: Hex; factory: Hex; intent: Intent; terms: Hex };
