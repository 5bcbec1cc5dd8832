// Finds the record of this page, and proves that it is the address's own. Nothing of a record is
// shown before it is verified.

import {
  type AddressRecord,
  decodeTerms,
  fromHex,
  type Hex,
  InvalidError,
  makeRecord,
  parseAddress,
} from "executable-address";
import { findRecord } from "executable-address/client/parts";

type Source = { address: string } | { terms: string };
export type PageRecord =
  | { kind: "record"; record: AddressRecord }
  | { kind: "wrong"; faults: string[] }
  | { kind: "malformed" | "missing" | "unreachable" };

/** Reads `/a/{address}`, or `#terms=0x…`, which takes precedence because it needs no server. */
export function readSource({ pathname, hash }: { pathname: string; hash: string }): Source {
  const terms = new URLSearchParams(hash.slice(1)).get("terms");
  if (terms !== null) return { terms };
  return { address: pathname.split("/")[2] ?? "" };
}

/** Never throws. The factory is the one built into this page, whatever the answer says. */
export async function findPageRecord(source: Source, signal: AbortSignal): Promise<PageRecord> {
  if ("terms" in source) {
    try {
      return { kind: "record", record: makeRecord(decodeTerms(fromHex(source.terms as Hex))) };
    } catch (error) {
      return { kind: "wrong", faults: listFaults(error) };
    }
  }
  let address: Hex;
  try {
    // Any letter case: a link may have been typed.
    address = parseAddress(source.address.toLowerCase());
  } catch {
    return { kind: "malformed" };
  }
  const found = await findRecord(["/v1"], address, signal);
  return found.kind === "wrong" ? { kind: "wrong", faults: listFaults(found.error) } : found;
}

const faultsShown = 5;

function listFaults(error: unknown): string[] {
  const issues = error instanceof InvalidError ? error.issues : [];
  return issues
    .slice(0, faultsShown)
    .map(({ path, code }) => (path.length > 0 ? `${path.join(".")}: ${code}` : code));
}
