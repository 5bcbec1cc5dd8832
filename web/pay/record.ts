// Finds the record of this page and verifies it. Nothing of a record is shown before that.

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

/** Never throws. Verifies against the factory built into this page, not against the response. */
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
    // Accepts any letter case, because a link may have been typed.
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
