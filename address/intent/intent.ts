// The types of intents and records in the API (spec/service.md §2).

import type { Hex } from "../abi/hex.ts";
import {
  address,
  hash,
  immutable,
  integer,
  list,
  matching,
  object,
  type TypeOf,
  text,
} from "../shape.ts";

export type { Hex };

/** A contract call that the executable address makes. */
export const call = immutable(
  object({
    /** The contract to call. Addresses below 2^16 are rejected. */
    target: address,
    /**
     * The signature in the form `name(type name, type name)`. Types are canonical ABI types, and
     * every parameter has a name. A comma and a space separate parameters.
     *
     * @minLength 3
     * @maxLength termsBytesMax
     */
    function: text,
    /**
     * One string per parameter, in the order of the signature. Integers are decimal, bytes are `0x`
     * hex, and strings are plain text. Booleans are `true` or `false`. Arrays and tuples are JSON
     * arrays of such strings. The arrays can be nested.
     *
     * @maxItems argsMax
     */
    args: list(text),
  }),
);
export type Call = TypeOf<typeof call>;

/** The purpose of an address (spec §2.2). */
export const intent = immutable(
  object({
    /** The token contract, listed for `chainId`. */
    token: address,
    /** The requested amount in base units of the token, below 2^256. */
    amount: matching(/^[1-9][0-9]{0,77}$/),
    /**
     * The calls to make, in this order. The calls run once, and either all succeed or none do.
     *
     * @minItems 1
     * @maxItems callsMax
     */
    calls: list(call),
    /** The last Unix second, by the chain's clock, in which the calls can be executed. */
    expirationTimestamp: integer(0),
    /**
     * Receives the money that the calls do not use. It cannot be the zero address, the factory, or
     * the token.
     */
    recovery: address,
    /** A random value that distinguishes otherwise equal intents. */
    salt: hash,
    /** The ID of a listed chain. */
    chainId: integer(1),
  }),
);
export type Intent = TypeOf<typeof intent>;

/**
 * An address and its intent (spec §2.1). Recompute the address from the terms before you trust the
 * record. Addresses are in EIP-55 checksum case, and all other hex values are lowercase.
 */
export const addressRecord = immutable(
  object({
    /** The executable address. */
    address,
    /** The PaymentFactory contract, which has the same address on every chain. */
    factory: address,
    /** The intent of the address. */
    intent,
    /** The encoded intent, `abi.encode(intent)` (spec/terms.md). */
    terms: matching<Hex>(/^0x([0-9a-f]{2})+$/),
  }),
);
export type AddressRecord = TypeOf<typeof addressRecord>;
