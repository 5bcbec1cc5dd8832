// Schedules reads of addresses' statuses. When the executor saves a payment to an address or a
// settlement of an address, the same transaction marks the address with the block number. The
// address is due for a read when this block has the number of confirmations that the account has
// set, or the chain's default number. After a reorganization, addresses whose status was read at a
// replaced block are due immediately.

import type { Hex } from "executable-address";
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { confirmationsDefault } from "../chain/chains.ts";
import { groupsOf, statementRows } from "../flow/groups.ts";
import { findShared, firstOwners, type IntentChain, laterOwners } from "../store/owners.ts";
import type { Tables } from "../store/tables.ts";

/**
 * Events go to the first account that created the address, and to at most this number of later
 * accounts. The earliest of the later accounts are chosen. The limit is necessary because any
 * account can create an existing address again, and each account adds a row.
 */
const laterOwnersMax = 31;

/**
 * Marks `addresses` for each account that created them. The addresses are due for a status read
 * when block `blockNumber` has the number of confirmations that the account requires. Skips
 * addresses whose intents are for other chains, because their status is read on the intent's chain.
 */
export async function markWatches(
  transaction: Transaction<Tables>,
  chainId: number,
  addresses: readonly Hex[],
  blockNumber: number,
): Promise<void> {
  await insertForOwners(transaction, chainId, addresses, "this", (owners) =>
    insert(transaction, chainId, blockNumber, owners),
  );
}

/**
 * Calls `insertFor` for the accounts that created the addresses.
 *
 * @param intentChain "this" selects the addresses whose intents are for `chainId`, and "other"
 *   selects the rest
 * @param insertFor receives SQL that selects the account, address, creation time, token, and chain
 */
export async function insertForOwners(
  transaction: Transaction<Tables>,
  chainId: number,
  addresses: readonly Hex[],
  intentChain: IntentChain,
  insertFor: (owners: ReturnType<typeof sql>) => Promise<void>,
): Promise<void> {
  for (const some of groupsOf(addresses, statementRows.costly)) {
    await insertFor(firstOwners(chainId, some, intentChain));
    for (const address of await findShared(transaction, chainId, some, intentChain)) {
      await insertFor(laterOwners(address, laterOwnersMax));
    }
  }
}

type ObservedAt = { block_number: number; account_id: string; address: Uint8Array };

/**
 * After a reorganization, schedules a status read for all addresses whose status was read after
 * `block`.
 */
export async function markObservedAbove(
  db: Kysely<Tables>,
  chainId: number,
  block: number,
): Promise<void> {
  const key = sql`(block_number, account_id, address)`;
  const keySql = (row: ObservedAt) => sql`(${row.block_number}, ${row.account_id}, ${row.address})`;
  let from: ObservedAt = { block_number: block + 1, account_id: "", address: new Uint8Array() };
  for (;;) {
    const isAbove = sql<boolean>`chain_id = ${chainId} and ${key} > ${keySql(from)}`;
    // The query returns only the last row, because all rows can be a million.
    const { rows } = await sql<ObservedAt & { unmarked: number }>`
      select block_number, account_id, address, unmarked from (
        select block_number, account_id, address,
          max(case when due_block = 0 then 0 else 1 end) over () as unmarked
        from (select block_number, account_id, address, due_block from watches where ${isAbove}
          order by block_number, account_id, address limit ${statementRows.short}) some_rows
      ) page order by block_number desc, account_id desc, address desc limit 1`.execute(db);
    const [last] = rows;
    if (!last) return;
    // The search includes rows that are already due, because a statement that excludes these rows
    // would have to scan all of them.
    if (last.unmarked) {
      await db
        .updateTable("watches")
        .set({ due_block: 0, readings: 0 })
        .where(isAbove)
        .where(sql<boolean>`${key} <= ${keySql(last)}`)
        .execute();
    }
    from = last;
  }
}

/** @param owners SQL that selects the account, address, creation time, and token */
async function insert(
  db: Kysely<Tables>,
  chainId: number,
  block: number,
  owners: ReturnType<typeof sql>,
): Promise<void> {
  const account = sql`new.account_id`;
  const depth = selectConfirmations(account, chainId);
  await sql`insert into watches (account_id, address, created_at, token, chain_id, marked_block,
      due_block, readings, version, sequence, state)
    select new.account_id, new.address, new.created_at, new.token, cast(${chainId} as bigint),
      cast(${block} as bigint), cast(${block} as bigint) + ${depth}, 0, 0, 0, 'unfunded'
    from (${owners}) new where true
    order by 1, 2
    on conflict (account_id, address) do update set
      readings = 0,
      marked_block = case when excluded.marked_block > watches.marked_block
        then excluded.marked_block else watches.marked_block end,
      due_block = case when watches.due_block < excluded.due_block
        then watches.due_block else excluded.due_block end`.execute(db);
}

/**
 * Sets how many confirmations a block needs before the account's events on this chain are reported.
 *
 * @param confirmations null for the chain's default
 */
export async function setConfirmations(
  db: Kysely<Tables>,
  accountId: string,
  chainId: number,
  confirmations: number | null,
): Promise<void> {
  if (confirmations === null) {
    await db
      .deleteFrom("event_confirmations")
      .where("account_id", "=", accountId)
      .where("chain_id", "=", chainId)
      .execute();
    return;
  }
  await db
    .insertInto("event_confirmations")
    .values({ account_id: accountId, chain_id: chainId, confirmations })
    .onConflict((conflict) =>
      conflict.columns(["account_id", "chain_id"]).doUpdateSet({ confirmations }),
    )
    .execute();
}

export async function listConfirmations(
  db: Kysely<Tables>,
  accountId: string,
): Promise<{ chainId: number; confirmations: number }[]> {
  const rows = await db
    .selectFrom("event_confirmations")
    .select(["chain_id", "confirmations"])
    .where("account_id", "=", accountId)
    .orderBy("chain_id")
    .execute();
  return rows.map(({ chain_id, confirmations }) => ({ chainId: chain_id, confirmations }));
}

/** Returns SQL for the number of confirmations that the account requires on the chain. */
export const selectConfirmations = (
  account: RawBuilder<unknown>,
  chainId: number | RawBuilder<unknown>,
) => sql<number>`coalesce(
  (select confirmations from event_confirmations
    where account_id = ${account} and chain_id = ${chainId}),
  (select confirmations from event_chains where chain_id = ${chainId}),
  ${sql.raw(String(confirmationsDefault))})`;
