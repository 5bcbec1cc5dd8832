// Observes the addresses whose intents are for one chain. When an address is due, the observer
// reads its status, and saves changes as events. The status is read at a block with the
// confirmations that the account requires. The chain's loop (follow/loop.ts) starts the observer.
// Several processes can observe the same chain. If two processes observe the same change, only the
// first observation is saved.
//
// The observer reads statuses only up to the newest anchor (follow/anchors.ts). An anchor is a
// block up to which the executor has read the chain. If a reorganization replaces the block of an
// anchor, the executor removes the anchor. If an address's status was read at a later block than
// the newest remaining anchor, the address becomes due again.

import { formatAddress, type Hex, toHex } from "executable-address";
import {
  type AddressStatus,
  type BlockReference,
  isOpenState,
  type StatusSubject,
} from "executable-address/status";
import type { Logger } from "pino";
import type { Chains } from "../chain/registry.ts";
import { findBlockAt } from "../chain/rpc/heads.ts";
import { ChainUnavailable } from "../chain/rpc/json-rpc.ts";
import { pairsPerCallMax } from "../chain/status/probe.ts";
import { AddressUnreadable, type StatusReader } from "../chain/status/reader.ts";
import { dayMs } from "../flow/days.ts";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import { backoff } from "../flow/wait.ts";
import { findAnchor } from "../follow/anchors.ts";
import type { ChainLoop } from "../follow/loop.ts";
import type { Anchor } from "../follow/payment.ts";
import { decodeRecord } from "../store/record.ts";
import { CorruptError, type Store } from "../store/store.ts";
import type { AddressOf, MovedElsewhere } from "./elsewhere/amounts.ts";
import type { MovesElsewhere } from "./elsewhere/changes.ts";
import { pruneEvents } from "./list.ts";
import { postponeMarks } from "./mark.ts";
import { isWaitingForSweep, type Paid, unreported } from "./paid.ts";
import { readPayments, readPaymentsElsewhere } from "./payments.ts";
import {
  findDue,
  hasReceived,
  mayBeDue,
  type NewEvent,
  type OnEvents,
  postponeWatches,
  saveObservations,
  type Watch,
} from "./watches.ts";

/** The pause after a failure, for example if no endpoint of the chain responds. */
const faultMs = 5_000;
const pruneMs = 60_000;

type ChainParts = {
  chains: Pick<Chains, "known" | "rpcOf">;
  statusReader: (chainId: number) => StatusReader;
  chainLoop: (chainId: number) => ChainLoop;
};

type ObserverParts = Omit<ObserveParts, "store" | "onFault"> &
  ChainParts & { store: Pick<Store, "db">; log: Logger };

/**
 * Starts an observer for each configured chain. `stop` resolves when all observers have finished
 * their current work.
 */
export function startObserver(parts: ObserverParts): { stop(): Promise<void> } {
  const ends = parts.chains.known.map((chain) =>
    parts.chainLoop(chain.chainId).subscribe(openTurns(parts, chain)),
  );
  return {
    async stop() {
      await Promise.all(ends.map((end) => end()));
    },
  };
}

type KnownChain = ObserverParts["chains"]["known"][number];

/**
 * Returns a function that observes all due addresses in one turn. The function never rejects. For
 * {@link faultMs} after a failure, the function returns immediately.
 */
function openTurns(parts: ObserverParts, { chainId, confirmations }: KnownChain) {
  const { store, now } = parts;
  const log = parts.log.child({ chainId });
  const observed = openObservedChain(parts, chainId);
  const logLimited = limitLogs();
  const onFault = (address: string, err: unknown) =>
    logLimited(`address ${messageKind(String(err))}`, (leftOut) => {
      const text = "an address could not be observed; it will be retried";
      log.warn({ err, address, leftOut }, text);
    });
  let isDefaultSaved = false;
  let prunedAtMs = 0;
  let failedAtMs = Number.NEGATIVE_INFINITY;

  return async (): Promise<void> => {
    if (performance.now() - failedAtMs < faultMs) return;
    try {
      if (!isDefaultSaved) await saveDefault(store, chainId, confirmations);
      isDefaultSaved = true;
      const events = await observe({ ...parts, onFault }, observed);
      for (const { type, address } of events) log.info({ type, address: toHex(address) }, "event");
      if (now() - prunedAtMs > pruneMs) {
        await pruneEvents(store.db, now());
        prunedAtMs = now();
      }
    } catch (err) {
      failedAtMs = performance.now();
      logLimited(`turn ${messageKind(String(err))}`, (leftOut) =>
        log.warn({ err, leftOut }, "addresses could not be observed; they will be retried"),
      );
    }
  };
}

export function openObservedChain(
  {
    chains,
    statusReader,
    chainLoop,
  }: Omit<ChainParts, "chains"> & {
    chains: Pick<Chains, "rpcOf">;
  },
  chainId: number,
): ObservedChain {
  const rpc = chains.rpcOf(chainId);
  return {
    chainId,
    head: chainLoop(chainId).readHead,
    blockAt: (number) => findBlockAt(rpc, number),
    readAt: statusReader(chainId).readAt,
  };
}

/**
 * Saves the chain's default number of confirmations. The default applies to accounts that have not
 * set a number.
 */
async function saveDefault({ db }: Pick<Store, "db">, chainId: number, confirmations: number) {
  await db
    .insertInto("event_chains")
    .values({ chain_id: chainId, confirmations })
    .onConflict((conflict) => conflict.column("chain_id").doUpdateSet({ confirmations }))
    .execute();
}

export type ObserveParts = {
  store: Pick<Store, "db">;
  factory: Hex;
  keccak: (bytes: Uint8Array) => Uint8Array;
  publicUrl: string;
  /** Unix milliseconds. */
  now: () => number;
  onEvents: OnEvents;
  /**
   * Finds the amounts that the executor sent back from an address on chains other than `chainId`.
   */
  findReturns: (address: AddressOf) => Promise<MovedElsewhere[]>;
  /** Called if an address's status cannot be read, or if its record is corrupt. */
  onFault: (address: string, error: unknown) => void;
};

export type ObservedChain = Pick<StatusReader, "readAt"> & {
  chainId: number;
  head(): Promise<BlockReference>;
  blockAt(number: number): Promise<BlockReference | undefined>;
};

/**
 * The maximum number of addresses per call of {@link observe}. If the statuses of all these
 * addresses are read at the same block, two `eth_call`s read the balances.
 */
const watchesMax = 2 * pairsPerCallMax;
const readingMsMin = 15_000;
const readingMsMax = dayMs;

/**
 * Observes the addresses that are due.
 *
 * @throws if the chain or the database does not respond; the addresses then remain due
 */
export async function observe(parts: ObserveParts, chain: ObservedChain): Promise<NewEvent[]> {
  const { db } = parts.store;
  const { chainId } = chain;
  if (!(await mayBeDue(db, chainId, parts.now()))) return [];
  const head = await chain.head();
  const anchor = await findAnchor(db, chainId, head.number + 1);
  const due = await findDue(db, chainId, head.number, parts.now(), watchesMax);
  if (!anchor || due.length === 0) return [];
  if ((await chain.blockAt(anchor.number))?.hash !== anchor.hash) {
    const { number, hash } = anchor;
    throw new ChainUnavailable(
      `block ${number} of chain ${chainId} no longer has the hash ${hash}`,
    );
  }
  const read = await readDue(parts, chain, head, anchor, due);
  const nowMs = parts.now();
  const faults = read.flatMap(({ watch, status }) => (status instanceof Error ? [watch] : []));
  const observed = await withMoves(parts, chain, await withPayments(parts, chain, anchor, read));
  const events = await saveObservations(
    db,
    observed.map((each) => ({
      ...each,
      readAgainAtMs: nextReading(each, nowMs),
    })),
    { chainId, anchor, publicUrl: parts.publicUrl, nowMs, onEvents: parts.onEvents },
  );
  await postponeWatches(
    db,
    faults.map((watch) => ({ watch, readAgainAtMs: nowMs + waitMs(watch.readings) })),
  );
  for (const { elsewhere, readings } of faults) {
    await postponeMarks(db, elsewhere, waitMs(readings));
  }
  return events;
}

type Read = { watch: Watch; status: AddressStatus | Error };

/**
 * Reads each address's status at the newest block that has enough confirmations for the account. If
 * the newest anchor (follow/anchors.ts) is an earlier block, reads the status at the anchor
 * instead. A failed read does not affect other addresses.
 */
async function readDue(
  parts: ObserveParts,
  chain: ObservedChain,
  head: BlockReference,
  anchor: Anchor,
  due: Watch[],
): Promise<Read[]> {
  const found: Read[] = [];
  for (const [depth, watches] of byDepth(due)) {
    const number = Math.max(0, Math.min(head.number - depth, anchor.number));
    const block = await chain.blockAt(number);
    if (!block)
      throw new Error(
        `no endpoint of chain ${chain.chainId} returns block ${number}, although the newest ` +
          `block is ${head.number}`,
      );
    const reads = watches.map(async (watch): Promise<Read> => {
      try {
        return { watch, status: await chain.readAt(decodeSubject(watch, parts), block) };
      } catch (error) {
        if (error instanceof AddressUnreadable || error instanceof CorruptError) {
          return { watch, status: error };
        }
        throw error;
      }
    });
    found.push(...(await Promise.all(reads)));
  }
  for (const { watch, status } of found) {
    if (status instanceof Error) parts.onFault(`0x${watch.address.toString("hex")}`, status);
  }
  return found;
}

type Paying = { watch: Watch; status: AddressStatus; paid: Paid };
type Observed = Paying & { moves: MovesElsewhere };

/**
 * Adds the stored payments to each address. If a payment may be late, requests the timestamps of
 * the payments' blocks.
 */
async function withPayments(
  { store, keccak }: ObserveParts,
  chain: ObservedChain,
  anchor: Anchor,
  read: readonly Read[],
): Promise<Paying[]> {
  const found = read.flatMap(({ watch, status }) =>
    status instanceof Error ? [] : [{ watch, status }],
  );
  const payments = await readPayments(
    store.db,
    chain.chainId,
    found.map(({ watch }) => watch.address),
    keccak,
  );
  const times = new Map<number, Promise<BlockReference | undefined>>();
  const observed: Paying[] = [];
  for (const { watch, status } of found) {
    const mine = payments.get(toHex(watch.address)) ?? [];
    const lateBlocks = new Set<number>();
    const { block, execution, expirationTimestamp } = status;
    const mayBeLate = !execution && block.timestamp > expirationTimestamp;
    for (const { blockNumber } of mayBeLate ? unreported(watch.known.payments, mine) : []) {
      const time = times.get(blockNumber) ?? chain.blockAt(blockNumber);
      times.set(blockNumber, time);
      if (((await time)?.timestamp ?? 0) > expirationTimestamp) lateBlocks.add(blockNumber);
    }
    const isSwept = anchor.number > watch.markedBlock;
    observed.push({ watch, status, paid: { payments: mine, isSwept, lateBlocks } });
  }
  return observed;
}

/**
 * Adds `moves` to each address: the payments and the returns on other chains. `moves` is empty
 * unless a mark of the address is due (mark.ts).
 */
async function withMoves(
  { store, keccak, findReturns }: ObserveParts,
  { chainId }: ObservedChain,
  all: readonly Paying[],
): Promise<Observed[]> {
  const addresses = all.flatMap(({ watch }) => (watch.elsewhere.length > 0 ? [watch.address] : []));
  const payments = await readPaymentsElsewhere(store.db, chainId, addresses, keccak);
  return Promise.all(
    all.map(async (each) => {
      if (each.watch.elsewhere.length === 0) return { ...each, moves: noMoves };
      const returns = await findReturns({ address: each.status.address, chainId });
      const key = toHex(each.watch.address);
      return { ...each, moves: { payments: payments.get(key) ?? [], returns } };
    }),
  );
}

const noMoves: MovesElsewhere = { payments: [], returns: [] };

function byDepth(watches: Watch[]): Map<number, Watch[]> {
  const groups = new Map<number, Watch[]>();
  for (const watch of watches) {
    groups.set(watch.confirmations, [...(groups.get(watch.confirmations) ?? []), watch]);
  }
  return groups;
}

function decodeSubject(
  { address, terms }: Watch,
  { factory, keccak }: ObserveParts,
): StatusSubject {
  const intent = decodeRecord(address, terms, { factory, keccak });
  return { address: formatAddress(address, keccak), intent };
}

/**
 * Returns when to read an address's status again, or null if no read is necessary. After a payment
 * or an executor's transaction, the status is read anyway (mark.ts). Other changes are found only
 * by polling. For example, the intent can expire, and anyone can execute or recover the address.
 */
function nextReading({ watch, status, paid }: Observed, nowMs: number): number | null {
  const { state, block, expirationTimestamp, recoverable } = status;
  if (!hasReceived(watch, status)) return null;
  const soon = nowMs + waitMs(watch.known.state === state ? watch.readings : 0);
  if (isWaitingForSweep(watch.known.payments, status, paid)) return soon;
  if (isOpenState(state)) {
    // Assumes that the clocks of the host and the chain advance at the same speed.
    const secondsLeft = expirationTimestamp - block.timestamp + 1;
    const atExpiry = nowMs + Math.max(1_000, secondsLeft * 1000);
    return state === "funded" ? Math.min(soon, atExpiry) : atExpiry;
  }
  return state === "expired" || recoverable.length > 0 ? soon : null;
}

const waitMs = (readings: number) => backoff(readings + 1, readingMsMin, readingMsMax);
