// Marks the addresses whose status an observer has to read. The executor marks an address after a
// payment, an execution, or a recovery. The mark stores the block number. The mark and the payment
// or outcome are saved in the same database transaction. The mark is due when its block has enough
// confirmations. The account can set the number (`setConfirmations`), and each chain has a default.
// After a reorganization, addresses whose status was read at a replaced block are due immediately.
//
// An address can also be paid on a chain other than its intent's chain. The executor of the other
// chain sends such a payment back (a return). An address has a separate mark for each other chain
// on which it was paid. This mark is due when the payment or return has enough confirmations on
// that chain. The observer of the intent's chain then reports the payment or the return. A single
// observer reports all events of an address, so the events have a clear order. This file calls no
// node.

import type { Hex } from "executable-address";
import { type Kysely, sql, type Transaction } from "kysely";
import { blockSecondsMax } from "../chain/chains.ts";
import { groupsOf, inGroups } from "../flow/groups.ts";
import { newestAnchorOf } from "../follow/anchors.ts";
import { findShared, firstOwners, type IntentChain, laterOwners } from "../store/owners.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";
import { selectConfirmations } from "./confirmations.ts";

/**
 * Any account can create an existing address again, and each account adds a row. Therefore, only
 * the first account and at most this number of later accounts get the address's events.
 */
export const laterOwnersMax = 31;

/**
 * For each address, schedules one status read per account that gets the address's events. The
 * read is due when block `blockNumber` has the number of confirmations that the account requires.
 * Skips addresses whose intents are for other chains, because the observers of those chains read
 * these addresses.
 */
export async function markWatches(
  transaction: Transaction<Tables>,
  chainId: number,
  addresses: readonly Hex[],
  blockNumber: number,
): Promise<void> {
  await insertForOwners(transaction, chainId, addresses, blockNumber, "this");
}

/**
 * After payments or returns on `chainId`, marks the addresses whose intents are for other chains.
 * For each address, saves one mark for each account that gets the address's events. The mark is due
 * when block `blockNumber` of `chainId` has enough confirmations for the account.
 */
export async function markElsewhere(
  transaction: Transaction<Tables>,
  chainId: number,
  addresses: readonly Hex[],
  blockNumber: number,
): Promise<void> {
  await insertForOwners(transaction, chainId, addresses, blockNumber, "other");
}

/**
 * For each address, saves one mark for each account that gets the address's events.
 *
 * @param intentChain "this" selects the addresses whose intents are for `chainId`, and "other"
 *   selects the rest
 */
async function insertForOwners(
  transaction: Transaction<Tables>,
  chainId: number,
  addresses: readonly Hex[],
  blockNumber: number,
  intentChain: IntentChain,
): Promise<void> {
  const insert = intentChain === "this" ? insertWatches : insertElsewhere;
  for (const some of groupsOf(addresses, statementRows.costly)) {
    await insert(transaction, chainId, blockNumber, firstOwners(chainId, some, intentChain));
    for (const address of await findShared(transaction, chainId, some, intentChain)) {
      await insert(transaction, chainId, blockNumber, laterOwners(address, laterOwnersMax));
    }
  }
}

/**
 * @param owners a query for owners of addresses. Its columns are the account, the address, the
 *   creation time, and the token.
 */
async function insertWatches(
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
 * @param owners a query for owners of addresses. Its columns are the account, the address, the
 *   creation time, the token, and the chain.
 */
async function insertElsewhere(
  db: Kysely<Tables>,
  chainId: number,
  block: number,
  owners: ReturnType<typeof sql>,
): Promise<void> {
  await sql`insert into watches (account_id, address, created_at, token, chain_id, marked_block,
      due_block, readings, version, sequence, state)
    select new.account_id, new.address, new.created_at, new.token, new.chain_id, 0, null, 0, 0, 0,
      'unfunded'
    from (${owners}) new where true
    order by 1, 2
    on conflict (account_id, address) do nothing`.execute(db);
  const depth = selectConfirmations(sql`new.account_id`, chainId);
  await sql`insert into watches_elsewhere (account_id, address, chain_id, other_chain_id,
      marked_block, due_block, marks)
    select new.account_id, new.address, new.chain_id, cast(${chainId} as bigint),
      cast(${block} as bigint), cast(${block} as bigint) + ${depth}, 1
    from (${owners}) new where true
    order by 1, 2
    on conflict (account_id, address, other_chain_id) do update set
      marks = watches_elsewhere.marks + 1,
      marked_block = case when excluded.marked_block > watches_elsewhere.marked_block
        then excluded.marked_block else watches_elsewhere.marked_block end,
      due_block = case when excluded.due_block < watches_elsewhere.due_block
        then excluded.due_block else watches_elsewhere.due_block end`.execute(db);
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
    // A million rows can match, so they are updated in groups. The query returns only the last row
    // of the next group.
    const { rows } = await sql<ObservedAt & { unmarked: number }>`
      select block_number, account_id, address, unmarked from (
        select block_number, account_id, address,
          max(case when due_block = 0 then 0 else 1 end) over () as unmarked
        from (select block_number, account_id, address, due_block from watches where ${isAbove}
          order by block_number, account_id, address limit ${statementRows.short}) some_rows
      ) page order by block_number desc, account_id desc, address desc limit 1`.execute(db);
    const [last] = rows;
    if (!last) return;
    // The groups include rows that are already due. If the query skipped these rows, it might scan
    // a million rows to fill one group.
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

/**
 * A mark that is due. On the chain `chainId`, the blocks up to `upTo` have the confirmations that
 * the account requires. `address` has 20 bytes.
 */
export type DueElsewhere = {
  accountId: string;
  address: Buffer;
  chainId: number;
  upTo: number;
  markedBlock: number;
  marks: number;
};

/**
 * Returns the other chains for which at least one mark is due. Considers only addresses whose
 * intents are for `chainId`. `number` is the last block of `otherId` that the executor has read.
 */
async function findDueChains(db: Kysely<Tables>, chainId: number) {
  const id = sql`event_chains.chain_id`;
  const earliest = sql`(select min(m.due_block) from watches_elsewhere m
    where m.other_chain_id = ${id} and m.chain_id = ${chainId})`;
  const { rows } = await sql<{ chain_id: number; number: number }>`select chain_id, number from (
      select ${id}, ${newestAnchorOf(id)} as number, ${earliest} as earliest from event_chains) due
    where earliest <= number`.execute(db);
  return rows.map((row) => ({ otherId: Number(row.chain_id), number: Number(row.number) }));
}

/**
 * Returns whether any mark for another chain is due. Considers only addresses whose intents are for
 * `chainId`.
 */
export const isElsewhereDue = async (db: Kysely<Tables>, chainId: number): Promise<boolean> =>
  (await findDueChains(db, chainId)).length > 0;

/**
 * Returns due marks. The marks of one chain are sorted by block number. Block numbers of different
 * chains cannot be compared. Each chain gets an equal share of `limit`, rounded up.
 */
export async function findDueElsewhere(
  db: Kysely<Tables>,
  chainId: number,
  limit: number,
): Promise<DueElsewhere[]> {
  type Row = Pick<
    Tables["watches_elsewhere"],
    "account_id" | "address" | "marked_block" | "marks"
  > & { depth: number };
  const chains = await findDueChains(db, chainId);
  const found = await inGroups(chains, 1, async ([chain]) => {
    const { otherId, number } = chain!;
    const { rows } = await sql<Row>`select m.account_id, m.address, m.marked_block, m.marks,
        ${selectConfirmations(sql`m.account_id`, otherId)} as depth
      from watches_elsewhere m
      where m.other_chain_id = ${otherId} and m.chain_id = ${chainId} and m.due_block <= ${number}
      order by m.due_block limit ${Math.ceil(limit / chains.length)}`.execute(db);
    return rows.map((row) => ({ row, otherId, number }));
  });
  return found.map(({ row, otherId, number }) => ({
    accountId: row.account_id,
    address: Buffer.from(row.address),
    chainId: otherId,
    upTo: number - Number(row.depth),
    markedBlock: Number(row.marked_block),
    marks: Number(row.marks),
  }));
}

/**
 * If a mark is due within this number of blocks, the executor polls at the usual interval. If all
 * marks are due later, the executor may poll less often, and events may be late.
 */
const awaitedBlocksMax = 1_024;

/**
 * Returns whether a payment or return on `chainId` waits for confirmations. Considers only
 * addresses whose intents are for other chains. Ignores marks that are due after more than {@link
 * awaitedBlocksMax} blocks.
 */
export async function isAwaitedElsewhere(db: Kysely<Tables>, chainId: number): Promise<boolean> {
  const upTo = newestAnchorOf(sql`${chainId}`);
  const { rows } = await sql`select 1 from watches_elsewhere where other_chain_id = ${chainId}
    and due_block > ${upTo} and due_block <= ${upTo} + ${awaitedBlocksMax} limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * Deletes marks after their events were saved. If a newer payment or return still needs
 * confirmations, postpones the mark instead. Ignores marks that have changed in the meantime.
 */
export async function endMarks(
  transaction: Transaction<Tables>,
  due: readonly DueElsewhere[],
): Promise<void> {
  for (const { accountId, address, chainId, upTo, markedBlock, marks } of due) {
    const mark = sql`account_id = ${accountId} and address = ${address}
      and other_chain_id = ${chainId} and marks = ${marks}`;
    const depth = selectConfirmations(sql`${accountId}`, chainId);
    await (markedBlock > upTo
      ? sql`update watches_elsewhere set due_block = marked_block + ${depth} where ${mark}`
      : sql`delete from watches_elsewhere where ${mark}`
    ).execute(transaction);
  }
}

/**
 * Postpones the marks of an address whose status could not be read. A mark becomes due at a block
 * number, so `waitMs` is converted to blocks, rounded up. The database does not store how long a
 * chain's blocks take. The conversion therefore uses the longest block interval of any chain
 * ({@link blockSecondsMax}). On a chain with 2-second blocks, the actual wait is only a fifteenth
 * of `waitMs`.
 */
export async function postponeMarks(
  db: Kysely<Tables>,
  due: readonly DueElsewhere[],
  waitMs: number,
): Promise<void> {
  const blocks = Math.ceil(waitMs / (blockSecondsMax * 1000));
  for (const { accountId, address, chainId, marks } of due) {
    await sql`update watches_elsewhere
      set due_block = ${newestAnchorOf(sql`other_chain_id`)} + ${blocks}
      where account_id = ${accountId} and address = ${address} and other_chain_id = ${chainId}
        and marks = ${marks}`.execute(db);
  }
}
