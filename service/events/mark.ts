// Marks addresses for observation: what received money or was settled, in the transaction of the
// executor's ledger that records why, and what was observed on blocks that a reorganisation
// replaced. What became of them is read from the chain later, by observe.ts.

import type { Hex } from "executable-address";
import { type Kysely, sql, type Transaction } from "kysely";
import { groupsOf, statementRows } from "../flow/groups.ts";
import { findShared, firstOwners, laterOwners } from "../store/owned.ts";
import type { Tables } from "../store/tables.ts";
import { confirmationsOf } from "./confirmations.ts";

/**
 * Others who created the same address and hear of it too, oldest first. Anybody may create it
 * again, and each costs the payer's executor a row.
 */
const laterOwnersMax = 31;

/**
 * Each account that created one of `addresses` is told of it once `blockNumber` is deep enough for
 * it. Addresses of other chains' intents are left out: their status is of another chain.
 */
export async function markWatches(
  transaction: Transaction<Tables>,
  chainId: number,
  addresses: readonly Hex[],
  blockNumber: number,
): Promise<void> {
  for (const some of groupsOf(addresses, statementRows.costly)) {
    await insert(transaction, chainId, blockNumber, firstOwners(chainId, some));
    for (const address of await findShared(transaction, chainId, some)) {
      await insert(transaction, chainId, blockNumber, laterOwners(address, laterOwnersMax));
    }
  }
}

type ObservedAt = { block_number: number; account_id: string; address: Uint8Array };

/** After a reorganisation all that was observed above `block` is due, in the order of blocks. */
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
    // A step answers with its last row alone: there may be a million, and each would be copied.
    const { rows } = await sql<ObservedAt & { unmarked: number }>`
      select block_number, account_id, address, unmarked from (
        select block_number, account_id, address,
          max(case when due_block = 0 then 0 else 1 end) over () as unmarked
        from (select block_number, account_id, address, due_block from watches where ${isAbove}
          order by block_number, account_id, address limit ${statementRows.short}) some_rows
      ) page order by block_number desc, account_id desc, address desc limit 1`.execute(db);
    const [last] = rows;
    if (!last) return;
    // A statement that left out the rows marked before would read them all to find none.
    if (last.unmarked) {
      await db
        .updateTable("watches")
        .set({ due_block: 0, looks: 0 })
        .where(isAbove)
        .where(sql<boolean>`${key} <= ${keySql(last)}`)
        .execute();
    }
    from = last;
  }
}

/** @param owners rows of account, address, creation and token, in SQL */
async function insert(
  db: Kysely<Tables>,
  chainId: number,
  block: number,
  owners: ReturnType<typeof sql>,
): Promise<void> {
  const account = sql`new.account_id`;
  const depth = confirmationsOf(account, chainId);
  await sql`insert into watches (account_id, address, created_at, token, chain_id, marked_block,
      due_block, looks, version, sequence, state)
    select new.account_id, new.address, new.created_at, new.token, cast(${chainId} as bigint),
      cast(${block} as bigint), cast(${block} as bigint) + ${depth}, 0, 0, 0, 'unfunded'
    from (${owners}) new where true
    order by 1, 2
    on conflict (account_id, address) do update set
      looks = 0,
      marked_block = case when excluded.marked_block > watches.marked_block
        then excluded.marked_block else watches.marked_block end,
      due_block = case when watches.due_block < excluded.due_block
        then watches.due_block else excluded.due_block end`.execute(db);
}
