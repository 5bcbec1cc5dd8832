// Finds the accounts that created an address (its owners), and the references that they set. The
// first owner is stored in a column of the address's record. Later owners are in a separate table.
// Except for tests, only this folder uses the tables of records, owners, and references directly.
// Other folders join these tables with the SQL from this file.
//
// A reference, such as an order number, is visible only to the account that set it. References from
// client IDs are separate from references from API keys. A client ID is public, so any visitor of a
// page can set a reference with the client ID. Such a reference must not be mistaken for one from
// the account's server. A reference is saved together with its record (save-functions.ts,
// sqlite/write-worker.ts).

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tables } from "./tables.ts";

type Sql = RawBuilder<unknown>;

/**
 * Returns SQL that joins an address's record (`r`) and the account's row in `later_owners` (`l`).
 * The columns of `l` are null unless the account is a later owner.
 *
 * @param account SQL for the ID of an account that created the address
 */
export const joinRecord = (account: Sql, address: Sql) =>
  sql`join records r on r.address = ${address}
    left join later_owners l on l.account_id = ${account} and l.address = ${address}`;

/** Returns SQL for all records (`r`), joined with the account's rows of `later_owners` (`l`). */
export const recordsFor = (account: Sql) => sql`records r
    left join later_owners l on l.account_id = ${account} and l.address = r.address`;

/**
 * Returns SQL for the time at which the account created the address. The SQL is valid only in a
 * query that contains {@link joinRecord} or {@link recordsFor}.
 */
export const createdAt = (account: Sql) =>
  sql<number>`case when r.account_id = ${account} then r.created_at else l.created_at end`;

/**
 * Returns an SQL expression that is 1 if the account used its client ID to create the address. The
 * expression is valid only in a query that contains {@link joinRecord} or {@link recordsFor}.
 */
const madeByClientId = (account: Sql) =>
  sql<number>`case when r.account_id = ${account} then r.by_client_id else l.by_client_id end`;

/**
 * A view with a row for each owner of each address. The columns are `account_id`, `address`, and
 * `created_at`.
 */
export const owners = sql`owners`;

/**
 * `this` means that the intent of an address is for the chain `chainId`. `other` means that the
 * intent is for another chain.
 */
export type IntentChain = "this" | "other";

const isAmong = (chainId: number, addresses: readonly Hex[], intentChain: IntentChain) =>
  sql`r.address in (${sql.join(addresses.map((address) => sql`${fromHex(address)}`))})
    and r.chain_id ${sql.raw(intentChain === "this" ? "=" : "<>")} ${chainId}`;

/**
 * Returns SQL that selects the first owner of each address, with the intent's `token` and
 * `chain_id`. If `intentChain` is `this`, selects only addresses whose intents are for `chainId`.
 * If it is `other`, selects only addresses whose intents are for other chains.
 */
export const firstOwners = (
  chainId: number,
  addresses: readonly Hex[],
  intentChain: IntentChain = "this",
) =>
  sql`select r.account_id, r.address, r.created_at, r.token, r.chain_id from records r
    where ${isAmong(chainId, addresses, intentChain)}`;

/**
 * Returns the `addresses` that more than one account has created. `intentChain` is as in
 * {@link firstOwners}.
 */
export async function findShared(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Hex[],
  intentChain: IntentChain = "this",
): Promise<Hex[]> {
  const { rows } = await sql<{ address: Buffer }>`select r.address from records r
    where ${isAmong(chainId, addresses, intentChain)}
      and exists (select 1 from later_owners l where l.address = r.address)`.execute(db);
  return rows.map(({ address }) => toHex(address));
}

/**
 * Returns SQL that selects up to `most` later owners of an address, the earliest first. The
 * selected columns are the same as in {@link firstOwners}.
 */
export const laterOwners = (address: Hex, most: number) =>
  sql`select o.account_id, o.address, o.created_at, r.token, r.chain_id
    from (select * from later_owners where address = ${fromHex(address)}
      order by created_at limit ${most}) o
    join records r on r.address = o.address where r.address = ${fromHex(address)}`;

/** The kind of credential that created an address or set its reference. */
export type CreatedBy = "api_key" | "client_id";

/**
 * An account's reference for an address. `reference` was set with an API key, and
 * `claimedReference` with a client ID. At least one of the two fields is null.
 */
export type Named = {
  reference: string | null;
  claimedReference: string | null;
  createdBy: CreatedBy;
};

/**
 * Converts a query's row to the account's reference. The query must select the column `reference`
 * of {@link joinReference}, and {@link byClientId} as `by_client_id`.
 */
export function readNamed(row: { reference: string | null; by_client_id: number | null }): Named {
  return row.by_client_id === 1
    ? { reference: null, claimedReference: row.reference, createdBy: "client_id" }
    : { reference: row.reference, claimedReference: null, createdBy: "api_key" };
}

/** All references, with the columns `account_id`, `address`, `reference`, and `created_at`. */
export const references = sql`address_references`;

/** Returns SQL that left-joins the account's reference for an address as `n`. */
export const joinReference = (account: Sql, address: Sql) =>
  sql`left join address_references n on n.account_id = ${account} and n.address = ${address}`;

/**
 * Returns an SQL expression that is 1 if the account set its reference for the address with a
 * client ID, and otherwise 0. If there is no reference, the credential that created the address
 * determines the value. The expression is valid only in a query that contains {@link
 * joinReference}, and either {@link joinRecord} or {@link recordsFor}.
 *
 * @param account SQL for the account's ID
 */
export const byClientId = (account: Sql) =>
  sql<number>`coalesce(n.by_client_id, ${madeByClientId(account)})`;

/** Finds the first address (20 bytes) for which an API key of the account set `reference`. */
export async function findByReference(
  db: Kysely<Tables>,
  accountId: string,
  reference: string,
): Promise<Buffer | undefined> {
  const first = await db
    .selectFrom("address_references")
    .select("address")
    .where("account_id", "=", accountId)
    .where("reference", "=", reference)
    .where("by_client_id", "=", 0)
    // SQLite uses the partial unique index only for a literal 0, not for a parameter.
    .where(sql<boolean>`is_again = 0`)
    .executeTakeFirst();
  return first && Buffer.from(first.address);
}
