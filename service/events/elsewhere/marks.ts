// Schedules events about money on chains other than the intent's chain. When an executor saves a
// payment or a return on another chain, the same transaction saves a mark, which is a row for an
// address with a payment or return to report. The mark is due when the payment or return has the
// number of confirmations that the account requires on that chain. The observer of the intent's
// chain then reports the payment or return. A single observer reports all events of an address, so
// the events have a clear order. This file calls no node.

import type { Hex } from "executable-address";
import { type Kysely, sql, type Transaction } from "kysely";
import { inGroups } from "../../flow/groups.ts";
import { newestAnchorOf } from "../../follow/anchors.ts";
import type { Tables } from "../../store/tables.ts";
import { insertForOwners, selectConfirmations } from "../mark.ts";

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
  await insertForOwners(transaction, chainId, addresses, "other", (owners) =>
    insert(transaction, chainId, blockNumber, owners),
  );
}

/** @param owners SQL that selects the account, address, creation time, token, and chain */
async function insert(
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
 * Returns the chains that have due marks of addresses whose intents are for `chainId`, each with
 * the newest block up to which the chain was read.
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
 * Returns up to about `limit` due marks. Each other chain gets an equal share of the limit, because
 * block numbers of different chains cannot be compared.
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
 * interval. If all marks are due later, the executor may poll less often, and the marks are found
 * later.
 */
const awaitedBlocksMax = 1_024;

/**
 * Returns whether an event about money on `chainId` waits for confirmations, for an address whose
 * intent is for another chain. Ignores marks that are not due within {@link awaitedBlocksMax}
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
 * The block time that {@link postponeMarks} assumes for every chain, because a mark is due at a
 * block number and the database stores no block times. No listed chain has slower blocks
 * (Ethereum's blocks take 12 s). On a faster chain, a postponed mark is due earlier: with 2-second
 * blocks, after a sixth of `waitMs`.
 */
const slowestBlockMs = 12_000;

/**
 * Postpones the marks of an address whose status could not be read. The marks are due again after
 * `waitMs / slowestBlockMs` blocks, rounded up.
 */
export async function postponeMarks(
  db: Kysely<Tables>,
  due: readonly DueElsewhere[],
  waitMs: number,
): Promise<void> {
  const blocks = Math.ceil(waitMs / slowestBlockMs);
  for (const { accountId, address, chainId, marks } of due) {
    await sql`update watches_elsewhere
      set due_block = ${newestAnchorOf(sql`other_chain_id`)} + ${blocks}
      where account_id = ${accountId} and address = ${address} and other_chain_id = ${chainId}
        and marks = ${marks}`.execute(db);
  }
}
