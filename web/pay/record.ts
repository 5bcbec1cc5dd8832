// Finds the record of this page, and proves that it is the address's own. Nothing of a record is
// ever shown before verifyRecord has agreed to it.

import {
  type AddressRecord,
  decodeTerms,
  factoryAddress,
  fromHex,
  type Hex,
  InvalidError,
  makeRecord,
  parseAddress,
  verifyRecord,
} from "executable-address";

export type Source = { address: string } | { terms: string };
export type FoundRecord =
  | { kind: "record"; record: AddressRecord }
  | { kind: "wrong"; faults: string[] }
  | { kind: "malformed" | "missing" | "unreachable" };

/** `/a/{address}`, or `#terms=0x…`, which needs no server and so wins. */
export function sourceOf({ pathname, hash }: { pathname: string; hash: string }): Source {
  const terms = new URLSearchParams(hash.slice(1)).get("terms");
  if (terms !== null) return { terms };
  return { address: decodeURIComponent(pathname.split("/")[2] ?? "") };
}

/** Never throws. The factory is the one built into this page, whatever the answer says. */
export async function findRecord(source: Source, signal: AbortSignal): Promise<FoundRecord> {
  if ("terms" in source) return recordOfTerms(source.terms);
  const address = addressOf(source.address);
  if (!address) return { kind: "malformed" };
  const answer = await fetch(`/v1/address/${address}`, { signal }).catch(() => undefined);
  if (!answer) return { kind: "unreachable" };
  if (answer.status === 404) return { kind: "missing" };
  if (!answer.ok) return { kind: "unreachable" };
  const body: unknown = await answer.json().catch(() => undefined);
  return verified(() => verifyRecord(body, { factory: factoryAddress, address }));
}

function recordOfTerms(terms: string): FoundRecord {
  return verified(() => makeRecord(decodeTerms(fromHex(terms as Hex))));
}

/** Any letter case: a link may have been typed. */
const addressOf = (text: string): Hex | undefined => {
  try {
    return parseAddress(text.toLowerCase());
  } catch {
    return undefined;
  }
};

const faultsShown = 5;

const verified = (check: () => AddressRecord): FoundRecord => {
  try {
    return { kind: "record", record: check() };
  } catch (error) {
    const issues = error instanceof InvalidError ? error.issues : [];
    const faults = issues
      .slice(0, faultsShown)
      .map(({ path, code }) => (path.length > 0 ? `${path.join(".")}: ${code}` : code));
    return { kind: "wrong", faults };
  }
};
