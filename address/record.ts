// Makes and verifies records. A record contains an address, its factory, its intent, and the
// encoded terms.

import { formatAddress, parseAddress } from "./abi/checksum.ts";
import { toHex } from "./abi/hex.ts";
import { deriveAddress, parseFactory } from "./derive.ts";
import {
  addFault,
  describeType,
  describeValue,
  type Faults,
  gather,
  noFaults,
  throwFaults,
} from "./errors.ts";
import type { AddressRecord, Hex, Intent } from "./intent/intent.ts";
import { isObject, need, useIntent } from "./intent/parse.ts";
import { chooseKeccak, type Keccak } from "./keccak/keccak.ts";

/**
 * Derives the address of `intent`, and returns the record.
 *
 * @param options.factory the factory of the address, in any letter case; default {@link
 *   factoryAddress}
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 */
export function makeRecord(
  intent: Intent,
  options: { readonly factory?: Hex; readonly keccak?: Keccak } = {},
): AddressRecord {
  const keccak = chooseKeccak(options);
  const factory = parseFactory(options.factory, keccak);
  return useIntent(intent, { factory, keccak }, (intent, terms) => {
    const address = formatAddress(deriveAddress(terms, { factory, keccak }), keccak);
    return { address, factory, intent, terms: toHex(terms) };
  });
}

/**
 * Verifies a record from any source. Encodes the intent and derives the address again. Compares the
 * terms and the address with the record. Ignores other fields of the record.
 *
 * @param options.factory the factory that the caller trusts, never the record's factory
 * @param options.address the requested address, which the record must have
 * @returns the record in canonical form
 * @throws {InvalidError} if the record is invalid. The error lists the intent's faults, and any
 *   `factory_mismatch`, `terms_mismatch`, and `address_mismatch`
 */
export function verifyRecord(
  record: unknown,
  options: { readonly factory: Hex; readonly address?: Hex; readonly keccak?: Keccak },
): AddressRecord {
  const { address: expected, factory: given, keccak: hash } = options ?? {};
  const keccak = chooseKeccak({ keccak: hash });
  const trusted = parseAddress(given, { path: ["options", "factory"], keccak });
  const faults = noFaults();
  const claims = readClaims(faults, record);
  throwFaults(faults);
  const computed = gather(faults, "intent", () =>
    makeRecord(claims.intent as Intent, { factory: trusted, keccak }),
  );
  const factory = gather(faults, "factory", () => parseAddress(claims.factory, { keccak }));
  const address = gather(faults, "address", () => parseAddress(claims.address, { keccak }));
  if (factory !== undefined) compare(faults, "factory", factory, trusted);
  if (computed && typeof claims.terms === "string")
    compare(faults, "terms", claims.terms.toLowerCase(), computed.terms);
  else if (typeof claims.terms !== "string")
    addFault(
      faults,
      "wrong_type",
      `expected a string, found ${describeType(claims.terms)}`,
      "terms",
    );
  if (computed && address !== undefined) compare(faults, "address", address, computed.address);
  if (computed && expected !== undefined) {
    const wanted = parseAddress(expected, { path: ["options", "address"], keccak });
    compare(faults, "address", computed.address, wanted);
  }
  throwFaults(faults);
  return computed!;
}

type Claims = { address: unknown; factory: unknown; intent: unknown; terms: unknown };

function readClaims(faults: Faults, record: unknown): Claims {
  const claims: Claims = {
    address: undefined,
    factory: undefined,
    intent: undefined,
    terms: undefined,
  };
  if (!isObject(faults, record)) return claims;
  for (const name of Object.keys(claims) as (keyof Claims)[]) {
    if (Object.hasOwn(record, name)) claims[name] = record[name];
    need(faults, name, claims[name]);
  }
  return claims;
}

function compare(
  faults: Faults,
  field: "factory" | "terms" | "address",
  found: string,
  wanted: string,
) {
  if (found === wanted) return;
  const message =
    field === "terms" ? describeDifference(found, wanted) : `expected ${wanted}, found ${found}`;
  addFault(faults, `${field}_mismatch`, message, field);
}

/**
 * Describes the first difference of two different texts. Terms can have 49,154 characters, so the
 * message contains only 64.
 */
function describeDifference(found: string, wanted: string): string {
  let at = 0;
  while (found[at] === wanted[at]) at++;
  const [right, wrong] = [wanted, found].map((text) => describeValue(text.slice(at, at + 64)));
  return `expected ${right}, found ${wrong} at character ${at + 1}`;
}
