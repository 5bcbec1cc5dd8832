// References: what an account calls an address, such as its order number. It is not part of the
// terms, and only the account sees it.

import { InvalidError } from "executable-address";
import { type Kysely, sql } from "kysely";
import { type Together, together } from "../flow/together.ts";
import { type Store, UnavailableError } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";

/** `address` 20 bytes. */
type NewReference = { accountId: string; address: Uint8Array; reference: string };

/** Letters, marks, digits, punctuation, symbols and spaces, in Unicode's sense: nothing unseen. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,128}$/u;
/** Of one commit, for which creates wait. */
const groupSizeMax = 128;

/** @throws {InvalidError} unless it is 1 to 128 printable characters (code points) */
export function parseReference(value: unknown): string {
  if (typeof value === "string" && printable.test(value)) return value;
  const message = "expected one reference of 1 to 128 printable characters";
  throw new InvalidError([{ path: ["reference"], code: "malformed_reference", message }]);
}

/**
 * Resolves when the reference is durable; an earlier one of the account for this address is
 * replaced. Those that arrive together share one commit. The address must be the account's.
 */
export function referenceWriter({ db }: Pick<Store, "db">): Together<NewReference, undefined> {
  return together(
    async (rows: NewReference[]) => {
      // In the order of their keys, so that two servers never wait in a circle.
      const inOrder = rows.toSorted((a, b) => Buffer.compare(a.address, b.address));
      try {
        await db.transaction().execute(async (transaction) => {
          for (const { accountId, address, reference } of inOrder) {
            await sql`insert into address_references (account_id, address, reference, created_at)
            select account_id, address, ${reference}, created_at from owners
            where account_id = ${accountId} and address = ${address}
            on conflict (account_id, address) do update set reference = excluded.reference`.execute(
              transaction,
            );
          }
        });
      } catch (cause) {
        throw new UnavailableError("the reference was not kept", { cause });
      }
      return rows.map(() => undefined);
    },
    { sizeMax: groupSizeMax },
  );
}

/** By address, 40 hex digits; those without one are left out. */
export async function findReferences(
  db: Kysely<Tables>,
  accountId: string,
  addresses: readonly Uint8Array[],
): Promise<Map<string, string>> {
  if (addresses.length === 0) return new Map();
  const rows = await db
    .selectFrom("address_references")
    .select(["address", "reference"])
    // Each by its key: of an account and a list of addresses SQLite reads all that the account has.
    .where((is) =>
      is.or(
        addresses.map((address) =>
          is.and([is("account_id", "=", accountId), is("address", "=", Buffer.from(address))]),
        ),
      ),
    )
    .execute();
  return new Map(
    rows.map(({ address, reference }) => [Buffer.from(address).toString("hex"), reference]),
  );
}
