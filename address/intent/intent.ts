// Intents and records as the interface spells them. spec/service.md §2.

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

/** One contract call, made from the executable address. */
export const call = immutable(
  object({
    /** The contract to call; 2^16 or above. */
    target: address,
    /**
     * `name(type name, type name)`: canonical ABI types, one space between a type and its name, a
     * comma and a space between parameters, and a name for every parameter.
     *
     * @minLength 3
     * @maxLength 24576
     */
    function: text,
    /**
     * One string for each parameter, in signature order: decimal integers, addresses, `true` or
     * `false`, `0x` hex, and text as it is; arrays and tuples are JSON text of nested arrays of
     * such strings.
     *
     * @maxItems 768
     */
    args: list(text),
  }),
);
export type Call = TypeOf<typeof call>;

/** The purpose of an address: spec §2.2. */
export const intent = immutable(
  object({
    /** The token contract, listed for `chainId`. */
    token: address,
    /** Base units of the token, below 2^256. */
    amount: matching(/^[1-9][0-9]{0,77}$/),
    /**
     * Made in this order, once; either all succeed or none do.
     *
     * @minItems 1
     * @maxItems 32
     */
    calls: list(call),
    /** Unix seconds by the chain's clock, inclusive. */
    expirationTimestamp: integer(0),
    /** Receives the money that the calls do not use. Not zero, the factory or the token. */
    recovery: address,
    /** Distinguishes otherwise equal intents. */
    salt: hash,
    /** A listed chain. */
    chainId: integer(1),
  }),
);
export type Intent = TypeOf<typeof intent>;

/**
 * An address and its purpose: spec §2.1. Recompute the address from the terms before you trust it.
 * Addresses are in EIP-55 checksum case, every other hex value is lowercase.
 */
export const addressRecord = immutable(
  object({
    /** The executable address. */
    address,
    /** The PaymentFactory, which has the same address on every chain. */
    factory: address,
    /** The intent behind the address. */
    intent,
    /** `abi.encode(intent)`: spec/terms.md. */
    terms: matching<Hex>(/^0x([0-9a-f]{2})+$/),
  }),
);
export type AddressRecord = TypeOf<typeof addressRecord>;
