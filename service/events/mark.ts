// Marks the addresses that the observer of a chain has to examine. When the executor saves a
// payment to an address or a settlement of an address, it marks the address with the block number
// in the same database transaction. The address is due for a read of its status when this block has
// the number of confirmations that the account has set, or the chain's default number. After a
// reorganization, addresses whose status was read at a replaced block are due immediately.
//
// A payment or return on a chain other than the intent's chain has a separate mark, which is due
// when the payment or return has the number of confirmations that the account requires on that
// chain. The observer of the intent's chain then reports the payment or return. A single observer
// reports all events of an address, so the events have a clear order. This file calls no node.

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
 * Events go to the first account that created the address, and to at most this number of later
 * accounts. The earliest of the later accounts are chosen. The limit is necessary because any
 * account can create an existing address again, and each account adds a row.
 */
const laterOwnersMax = 31;

/**
 * Marks each of the `addresses` for every account that created it. The addresses are due for a
 * status read when block `blockNumber` has the number of confirmations that the account requires.
 * Skips addresses whose intents are for other chains, because their status is read on the intent's
 * chain.
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
 * Saves marks for addresses whose intents are for chains other than `chainId`, one for each account
 * that created the address. A mark is due when block `blockNumber` of `chainId` has the number of
 * confirmations that the account requires on this chain.
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
 * Saves marks for the accounts that created the addresses.
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

/** @param owners SQL that selects the account, address, creation time, and token */
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

/** @param owners SQL that selects the account, address, creation time, token, and chain */
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
    // Up to a million rows can match, so the query returns only the last row of each group.
    const { rows } = await sql<ObservedAt & { unmarked: number }>`
      select block_number, account_id, address, unmarked from (
        select block_number, account_id, address,
          max(case when due_block = 0 then 0 else 1 end) over () as unmarked
        from (select block_number, account_id, address, due_block from watches where ${isAbove}
          order by block_number, account_id, address limit ${statementRows.short}) some_rows
      ) page order by block_number desc, account_id desc, address desc limit 1`.execute(db);
    const [last] = rows;
    if (!last) return;
    // The search includes rows that are already due. If a statement skipped these rows, it could
    // scan a million rows before it finds a group.
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
 * A mark that is due. On the chain `chainId`, the blocks up to `upTo` have the number of
 * confirmations that the account requires. `address` has 20 bytes.
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
 * Returns the other chains that have due marks of addresses whose intents are for `chainId`.
 * `number` is the newest block up to which the other chain was read.
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

/** Returns whether there is a due mark of an address whose intent is for `chainId`. */
export const isElsewhereDue = async (db: Kysely<Tables>, chainId: number): Promise<boolean> =>
  (await findDueChains(db, chainId)).length > 0;

/**
 * Returns up to about `limit` due marks. The marks of one chain are sorted by block number. Block
 * numbers of different chains cannot be compared, so each chain gets an equal share of the limit.
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
 * If a mark is due within this number of blocks, the executor polls the chain at the usual
 * interval. If all marks are due later, the executor may poll less often, so it may notice late
 * that a mark is due.
 */
const awaitedBlocksMax = 1_024;

/**
 * Returns whether an address whose intent is for another chain has a mark that waits for
 * confirmations on `chainId`. Ignores marks that are due after more than {@link awaitedBlocksMax}
 * blocks.
 */
export async function isAwaitedElsewhere(db: Kysely<Tables>, chainId: number): Promise<boolean> {
  const upTo = newestAnchorOf(sql`${chainId}`);
  const { rows } = await sql`select 1 from watches_elsewhere where other_chain_id = ${chainId}
    and due_block > ${upTo} and due_block <= ${upTo} + ${awaitedBlocksMax} limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * Deletes marks whose events were saved. If the block of a mark does not have enough confirmations
 * yet, postpones the mark until the block has enough confirmations. Ignores marks that have changed
 * in the meantime.
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
 * Postpones the marks of an address whose status could not be read. The marks are due again after
 * at most `waitMs`, rounded up to a block. A mark is due at a block number, and the database stores
 * no block times, so every chain is assumed to have the slowest blocks ({@link blockSecondsMax}).
 * On a faster chain, a mark is due earlier: with 2-second blocks, after a fifteenth of `waitMs`.
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
