// Finds the addresses that are due for a status read, and saves observations with their events. A
// watch is an address that is observed for an account.

import { eventIdPattern } from "executable-address/client/internal";
import type { AddressStatus } from "executable-address/status";
import type { EventType } from "executable-address/webhook";
import { type Kysely, sql, type Transaction } from "kysely";
import { ChainUnavailable } from "../chain/rpc/json-rpc.ts";
import { inGroups, roundRobin } from "../flow/groups.ts";
import { newId } from "../flow/new-id.ts";
import { lockAnchor } from "../follow/anchors.ts";
import type { Anchor } from "../follow/payment.ts";
import { byClientId, joinRecord, joinReference, type Named, readNamed } from "../store/owners.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";
import {
  type Change,
  compareStatuses,
  type KnownStatus,
  nothingKnown,
  writeEventBody,
} from "./changes.ts";
import { selectConfirmations } from "./confirmations.ts";
import { compareElsewhere, type MovesElsewhere } from "./elsewhere/changes.ts";
import {
  type DueElsewhere,
  endMarks,
  findDueElsewhere,
  isAwaitedElsewhere,
  isElsewhereDue,
} from "./mark.ts";
import { addSums, movedSum } from "./money.ts";
import type { Paid } from "./paid.ts";

/** An address whose status has to be read for an account. The `terms` are not verified yet. */
export type Watch = {
  accountId: string;
  address: Buffer;
  terms: Buffer;
  named: Named;
  /** The number of confirmations that the account requires. */
  confirmations: number;
  /**
   * The newest block of the intent's chain for which the address was marked (mark.ts). The value is
   * 0 if only other chains marked the address.
   */
  markedBlock: number;
  version: number;
  sequence: number;
  /** The number of status reads since the last event, or since the address was last marked. */
  readings: number;
  known: KnownStatus;
  /** The other chains for which events are due (mark.ts). */
  elsewhere: DueElsewhere[];
};

export const newEventId = () => newId(eventIdPattern);

/** A saved event. `address` has 20 bytes. */
export type NewEvent = {
  accountId: string;
  id: string;
  type: EventType;
  address: Buffer;
  sequence: number;
};

/**
 * Runs in the transaction that saves the events, so that each saved event has its webhook
 * deliveries. `nowMs` is the time of the events.
 */
export type OnEvents = (
  transaction: Transaction<Tables>,
  events: NewEvent[],
  nowMs: number,
) => Promise<void>;

/**
 * Returns whether any address is due or waits for a block. If there is no such address, the
 * observer need not request the newest block.
 */
export async function mayBeDue(
  db: Kysely<Tables>,
  chainId: number,
  nowMs: number,
): Promise<boolean> {
  const { rows } = await sql<{ due: boolean | number }>`select
    exists (select 1 from watches where chain_id = ${chainId} and due_block is not null)
    or exists (select 1 from watches where chain_id = ${chainId} and due_at <= ${nowMs})
    as due`.execute(db);
  return Boolean(rows[0]?.due) || isElsewhereDue(db, chainId);
}

/**
 * Returns whether any event waits for a new block of this chain. An event about a payment on
 * another chain can also wait, because the event contains the address's status on this chain.
 */
export async function isBlockAwaited(db: Kysely<Tables>, chainId: number): Promise<boolean> {
  const row = await db
    .selectFrom("watches")
    .select("chain_id")
    .where("chain_id", "=", chainId)
    .where("due_block", "is not", null)
    .limit(1)
    .executeTakeFirst();
  if (row) return true;
  return (await isAwaitedElsewhere(db, chainId)) || isElsewhereDue(db, chainId);
}

/**
 * Returns up to `limit` addresses that are due. The accounts take turns, so that an account with
 * many due addresses does not delay others.
 */
export async function findDue(
  db: Kysely<Tables>,
  chainId: number,
  headNumber: number,
  nowMs: number,
  limit: number,
): Promise<Watch[]> {
  const due = (column: "due_block" | "due_at", until: number) =>
    db
      .selectFrom("watches")
      .select(["account_id", "address"])
      .where("chain_id", "=", chainId)
      .where(column, "<=", until)
      .orderBy(column)
      .limit(statementRows.walked)
      .execute();
  const elsewhere = await findDueElsewhere(db, chainId, statementRows.walked);
  const keys = [
    ...(await due("due_block", headNumber)),
    ...(await due("due_at", nowMs)),
    ...elsewhere.map(({ accountId, address }) => ({ account_id: accountId, address })),
  ];
  const once = new Map(keys.map((key) => [toText(key), key]));
  const chosen = roundRobin([...once.values()], (key) => key.account_id).slice(0, limit);
  const marks = Map.groupBy(elsewhere, ({ accountId, address }) =>
    toText({ account_id: accountId, address }),
  );
  const watches = await inGroups(chosen, statementRows.withTerms, (some) =>
    readWatches(db, chainId, some),
  );
  return watches.map((watch) => {
    const { accountId, address } = watch;
    return { ...watch, elsewhere: marks.get(toText({ account_id: accountId, address })) ?? [] };
  });
}

type Key = { account_id: string; address: Uint8Array };

const toText = ({ account_id, address }: Key) =>
  `${account_id} ${Buffer.from(address).toString("hex")}`;

type WatchRow = Key & {
  version: number;
  sequence: number;
  readings: number;
  known: string | null;
  marked_block: number;
  terms: Uint8Array;
  reference: string | null;
  by_client_id: number | null;
  confirmations: number;
};

async function readWatches(
  db: Kysely<Tables>,
  chainId: number,
  keys: Key[],
): Promise<Omit<Watch, "elsewhere">[]> {
  const account = sql`w.account_id`;
  const matches = keys.map(
    (key) => sql`(${account} = ${key.account_id} and w.address = ${key.address})`,
  );
  const { rows } = await sql<WatchRow>`select w.account_id, w.address, w.version, w.sequence,
      w.readings, w.known, w.marked_block, r.terms, n.reference,
      ${byClientId(account)} as by_client_id,
      ${selectConfirmations(account, chainId)} as confirmations
    from watches w ${joinRecord(account, sql`w.address`)}
      ${joinReference(account, sql`w.address`)}
    where ${sql.join(matches, sql` or `)}`.execute(db);
  return rows.map((row) => ({
    accountId: row.account_id,
    address: Buffer.from(row.address),
    terms: Buffer.from(row.terms),
    named: readNamed(row),
    confirmations: Number(row.confirmations),
    markedBlock: Number(row.marked_block),
    version: row.version,
    sequence: row.sequence,
    readings: row.readings,
    known: row.known ? { ...nothingKnown, ...JSON.parse(row.known) } : nothingKnown,
  }));
}

/**
 * `readAgainAtMs` is the time of the next status read if no payment arrives earlier. It is null if
 * no status read is scheduled.
 */
type Observation = {
  watch: Watch;
  status: AddressStatus;
  paid: Paid;
  /** The payments and returns on other chains. Empty if nothing is due to be reported. */
  moves: MovesElsewhere;
  readAgainAtMs: number | null;
};

/**
 * The options of {@link saveObservations}. Nothing is saved if a reorganization has replaced the
 * block `anchor`.
 */
type Saving = {
  chainId: number;
  anchor: Anchor;
  publicUrl: string;
  nowMs: number;
  onEvents: OnEvents;
};

/**
 * Saves observations together with their events. Skips an observation if another observation of the
 * address was saved since `watch` was read. A repeated call therefore reports each change only
 * once.
 */
export function saveObservations(
  db: Kysely<Tables>,
  observations: readonly Observation[],
  saving: Saving,
): Promise<NewEvent[]> {
  // The order is fixed, so that two observers cannot deadlock.
  const inOrder = observations.toSorted((a, b) => compare(a.watch, b.watch));
  return inGroups(inOrder, statementRows.costly, (some) => saveSome(db, some, saving));
}

function saveSome(
  db: Kysely<Tables>,
  inOrder: Observation[],
  { chainId, anchor, publicUrl, nowMs, onEvents }: Saving,
): Promise<NewEvent[]> {
  return db.transaction().execute(async (transaction) => {
    if (!(await lockAnchor(transaction, chainId, anchor))) {
      throw new ChainUnavailable(
        `block ${anchor.number} (${anchor.hash}) is no longer on chain ${chainId}`,
      );
    }
    const kept: NewEvent[] = [];
    const sums: NonNullable<ReturnType<typeof movedSum>>[] = [];
    for (const observation of inOrder) {
      const { watch, status, paid } = observation;
      const { changes, known } = compareObserved(observation);
      if (!(await updateWatch(transaction, observation, changes, known, nowMs))) continue;
      await endMarks(transaction, watch.elsewhere);
      const sum = movedSum(watch.accountId, watch.known.moved, status);
      if (sum) sums.push(sum);
      if (changes.length === 0) continue;
      const last = await nextPosition(transaction, watch.accountId, changes.length);
      const { accountId, address, named } = watch;
      const rows = changes.map((change, index) => {
        const id = newEventId();
        const sequence = watch.sequence + 1 + index;
        const parts = { id, change, atMs: nowMs, named, sequence, publicUrl };
        const position = last - changes.length + 1 + index;
        return {
          row: { position, id, type: change.type, address, sequence, created_at: nowMs },
          other_chain_id: change.kind === "elsewhere" ? change.chainId : null,
          body: writeEventBody(parts, status, paid),
        };
      });
      await transaction
        .insertInto("events")
        .values(rows.map(({ row, ...rest }) => ({ ...row, ...rest, account_id: accountId })))
        .execute();
      kept.push(
        ...rows.map(({ row: { id, type, sequence } }) => ({
          accountId,
          id,
          type,
          address,
          sequence,
        })),
      );
    }
    await addSums(transaction, sums);
    if (kept.length > 0) await onEvents(transaction, kept, nowMs);
    return kept;
  });
}

/** Returns the events of an observation. Events about the intent's chain come first. */
function compareObserved({ watch, status, paid, moves }: Observation) {
  const own = hasReceived(watch, status)
    ? compareStatuses(watch.known, status, paid)
    : { changes: [], known: watch.known };
  const changes: Change[] = [...own.changes];
  let { elsewhere } = watch.known;
  for (const mark of watch.elsewhere) {
    const found = compareElsewhere(elsewhere, mark, moves);
    changes.push(...found.changes);
    elsewhere = found.known;
  }
  return { changes, known: { ...own.known, elsewhere } };
}

/**
 * Returns whether the address has received money on its intent's chain. Without money, the
 * address's expiration is not reported, and its status is not read again.
 */
export const hasReceived = (
  { markedBlock }: Pick<Watch, "markedBlock">,
  { state, balance, recoverable }: AddressStatus,
): boolean => {
  const isEmpty = state === "unfunded" || (state === "expired" && balance === "0");
  return markedBlock > 0 || !isEmpty || recoverable.length > 0;
};

const compare = (a: Watch, b: Watch) =>
  a.accountId === b.accountId
    ? Buffer.compare(a.address, b.address)
    : a.accountId < b.accountId
      ? -1
      : 1;

async function updateWatch(
  transaction: Transaction<Tables>,
  { watch, status, readAgainAtMs }: Observation,
  changes: readonly Change[],
  known: KnownStatus,
  nowMs: number,
): Promise<boolean> {
  const { number, hash, timestamp } = status.block;
  const { execution, recoveries } = status;
  const { state } = known;
  const isSettled = state === "executed" || state === "recovered";
  const evidence = execution ?? (isSettled ? recoveries.at(-1) : undefined);
  const isReverted = changes.some(
    ({ kind, type }) => kind === "own" && type === "address.reverted",
  );
  const wasSettled = watch.known.state === state && !isReverted;
  const { numUpdatedRows } = await transaction
    .updateTable("watches")
    .set({
      version: watch.version + 1,
      sequence: watch.sequence + changes.length,
      readings: changes.length > 0 ? 0 : watch.readings + 1,
      state,
      block_number: number,
      block_hash: hash,
      block_time: timestamp,
      transaction_hash: evidence?.transactionHash ?? null,
      ...(isSettled ? (wasSettled ? {} : { settled_at: nowMs }) : { settled_at: null }),
      known: JSON.stringify(known),
      due_at: readAgainAtMs,
      // If the marked block is later than the status's block, the status must be read again.
      due_block: sql<number | null>`case when marked_block > ${number}
        then marked_block + ${watch.confirmations} end`,
    })
    .where("account_id", "=", watch.accountId)
    .where("address", "=", watch.address)
    .where("version", "=", watch.version)
    .executeTakeFirst();
  return Boolean(numUpdatedRows);
}

/**
 * Reserves the next `count` positions for the account's events, and returns the last position. The
 * row is locked until the commit, so events are committed in the order of their positions.
 */
async function nextPosition(
  transaction: Transaction<Tables>,
  accountId: string,
  count: number,
): Promise<number> {
  const { position } = await transaction
    .insertInto("event_positions")
    .values({ account_id: accountId, position: count })
    .onConflict((conflict) =>
      conflict
        .column("account_id")
        .doUpdateSet((eb) => ({ position: eb("event_positions.position", "+", count) })),
    )
    .returning("position")
    .executeTakeFirstOrThrow();
  return Number(position);
}

/**
 * Postpones the next read of addresses whose status could not be read. Skips an address if it was
 * observed or marked in the meantime. A mark resets `readings` to 0, and can increase
 * `marked_block`.
 */
export async function postponeWatches(
  db: Kysely<Tables>,
  watches: readonly { watch: Watch; readAgainAtMs: number | null }[],
): Promise<void> {
  for (const { watch, readAgainAtMs } of watches) {
    await db
      .updateTable("watches")
      .set({ due_block: null, due_at: readAgainAtMs, readings: watch.readings + 1 })
      .where("account_id", "=", watch.accountId)
      .where("address", "=", watch.address)
      .where("version", "=", watch.version)
      .where("readings", "=", watch.readings)
      .where("marked_block", "=", watch.markedBlock)
      .execute();
  }
}
