// References: what an account calls an address, such as its order number. Only the account sees
// them. Those of pages (by client ID) stand apart from those of servers (by API key): a client ID
// is public, so what it says must never pass for what the server said.

import { type Kysely, sql, type Transaction } from "kysely";
import { type Together, together } from "../flow/together.ts";
import { madeByClientId, owners, ownersByClientId } from "../store/owned.ts";
import { type Store, UnavailableError } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";

/** `address` 20 bytes; `isAgain` where another address may have the reference already. */
export type NewReference = {
  accountId: string;
  address: Uint8Array;
  reference: string;
  isClientId: boolean;
  isAgain: boolean;
};

/** A reference as it is searched. The databases fold letters each in its own way. */
export const folded = (reference: string): string => reference.toLowerCase();

/** Which credential made an address and named it, as rows, events and webhooks say. */
export type CreatedBy = "api_key" | "client_id";

export const createdByOf = (by_client_id: number | null): CreatedBy =>
  by_client_id === 1 ? "client_id" : "api_key";

/**
 * Gives in SQL 1 where a client ID named the address, or made it and nobody named it.
 *
 * @param account of a row with its `joinRecord` and what it has of `address_references`, as `n`
 */
export const byClientId = (account: ReturnType<typeof sql>) =>
  sql<number>`coalesce(n.by_client_id, ${madeByClientId(account)})`;

/** `in_use`: of another address, 20 bytes; `not_yours`: a client ID names only what it made. */
export type Referred = "kept" | { in_use: Buffer } | "not_yours";

/** Rows of one commit. Creates wait for a commit. */
const groupSizeMax = 128;

/**
 * Resolves when the reference is durable, or says why it is not kept. An API key replaces an
 * earlier reference of the address; a client ID only names an address that it made and that has no
 * reference. Calls that arrive together share one commit. The address must be the account's.
 */
export function referenceWriter({ db }: Pick<Store, "db">): Together<NewReference, Referred> {
  return together(
    async (rows: NewReference[]) => {
      // In the order of their keys, so that two servers do not wait in a circle.
      const order = (row: NewReference) => `${row.accountId} ${row.reference}`;
      const inOrder = rows.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
      try {
        return await db.transaction().execute(async (transaction) => {
          const referred = new Map<NewReference, Referred>();
          for (const row of inOrder) referred.set(row, await refer(transaction, row));
          return rows.map((row) => referred.get(row)!);
        });
      } catch (cause) {
        throw new UnavailableError("the reference was not kept", { cause });
      }
    },
    { sizeMax: groupSizeMax },
  );
}

async function refer(db: Transaction<Tables>, row: NewReference): Promise<Referred> {
  const { accountId, address, reference } = row;
  const [by, again] = [row.isClientId ? 1 : 0, row.isAgain ? 1 : 0];
  const { numAffectedRows = 0n } = await sql`insert into address_references
      (account_id, address, reference, folded, created_at, by_client_id, is_again)
    select account_id, address, ${reference}, ${folded(reference)}, created_at, ${by}, ${again}
    from ${row.isClientId ? ownersByClientId : owners} may_name
    where account_id = ${accountId} and address = ${address}
    on conflict do nothing`.execute(db);
  if (numAffectedRows > 0n) return "kept";
  const named = await db
    .selectFrom("address_references")
    .select(["reference", "by_client_id"])
    .where("account_id", "=", accountId)
    .where("address", "=", Buffer.from(address))
    .executeTakeFirst();
  if (named?.reference === reference && named.by_client_id === by) return "kept";
  const holder = await findHolder(db, row);
  if (holder && !holder.equals(address) && !row.isAgain) return { in_use: holder };
  if (!named || row.isClientId) return "not_yours";
  await db
    .updateTable("address_references")
    .set({ reference, folded: folded(reference), by_client_id: by, is_again: again })
    .where("account_id", "=", accountId)
    .where("address", "=", Buffer.from(address))
    .execute();
  return "kept";
}

/** The address of the account that first got this reference by this kind of credential. */
export async function findHolder(
  db: Kysely<Tables>,
  { accountId, reference, isClientId }: Omit<NewReference, "address" | "isAgain">,
): Promise<Buffer | undefined> {
  const holder = await db
    .selectFrom("address_references")
    .select("address")
    .where("account_id", "=", accountId)
    .where("reference", "=", reference)
    .where("by_client_id", "=", isClientId ? 1 : 0)
    // Written out: only so does SQLite see that the unique index fits.
    .where(sql<boolean>`is_again = 0`)
    .executeTakeFirst();
  return holder && Buffer.from(holder.address);
}

/** Finds them by address, 40 hex digits; those without one are left out. */
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
