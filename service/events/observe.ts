// One pass over one chain: reads what is due at the depth its account asks for, and keeps what is
// new as events. Several processes may run it at once: of two observations only the first is kept.
//
// It reads no block above the newest anchor of the chain's loop. The loop notices when a
// reorganisation takes an anchor back, and makes due what was observed above the one that stands.

import { formatAddress, type Hex, toHex } from "executable-address";
import {
  type AddressStatus,
  type BlockReference,
  isOpenState,
  type StatusSubject,
} from "executable-address/status";
import { ChainUnavailable } from "../chain/rpc/json-rpc.ts";
import { AddressUnreadable, type StatusReader } from "../chain/status/reader.ts";
import { dayMs } from "../flow/days.ts";
import { backoff } from "../flow/wait.ts";
import { findAnchor } from "../follow/anchors.ts";
import type { Anchor } from "../follow/parts.ts";
import { decodeRecord } from "../store/record.ts";
import { CorruptError, type Store } from "../store/store.ts";
import { isWaitingForSweep, type Paid, untold } from "./paid.ts";
import { readPayments } from "./payments.ts";
import {
  findDue,
  mayBeDue,
  type NewEvent,
  type OnEvents,
  postponeWatches,
  saveObservations,
  type Watch,
} from "./watches.ts";

export type ObserveParts = {
  store: Pick<Store, "db">;
  factory: Hex;
  keccak: (bytes: Uint8Array) => Uint8Array;
  publicUrl: string;
  /** Unix milliseconds. */
  now: () => number;
  onEvents: OnEvents;
  /** A watch that could not be read, or whose record does not derive its address. */
  onFault: (address: string, error: unknown) => void;
};

/** A chain to read from: its blocks, and statuses at one of them. */
export type ObservedChain = Pick<StatusReader, "readAt"> & {
  chainId: number;
  head(): Promise<BlockReference>;
  blockAt(number: number): Promise<BlockReference | undefined>;
};

/** Read in one pass: two batches of the status reader's. */
const watchesMax = 300;
const readingMsMin = 15_000;
const readingMsMax = dayMs;

/** @throws where the chain or the store does not answer: nothing is lost, all is due again */
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
    throw new ChainUnavailable(`chain ${chainId} has another block ${number} than ${hash}`);
  }
  const read = await readDue(parts, chain, head, anchor, due);
  const nowMs = parts.now();
  const faults = read.flatMap(({ watch, status }) => (status instanceof Error ? [watch] : []));
  const observed = await withPayments(parts, chain, anchor, read);
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
  return events;
}

type Read = { watch: Watch; status: AddressStatus | Error };

/** Reads each at the depth of its account. One that cannot be read does not affect others. */
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
    if (!block) throw new Error(`chain ${chain.chainId} lost block ${number} below its head`);
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

type Observed = { watch: Watch; status: AddressStatus; paid: Paid };

/** Adds what was paid to each; the time of a block is asked for where it tells what came late. */
async function withPayments(
  { store, keccak }: ObserveParts,
  chain: ObservedChain,
  anchor: Anchor,
  read: readonly Read[],
): Promise<Observed[]> {
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
  const observed: Observed[] = [];
  for (const { watch, status } of found) {
    const mine = payments.get(toHex(watch.address)) ?? [];
    const lateBlocks = new Set<number>();
    const { block, execution, expirationTimestamp } = status;
    const mayBeLate = !execution && block.timestamp > expirationTimestamp;
    for (const { blockNumber } of mayBeLate ? untold(watch.known.payments, mine) : []) {
      const time = times.get(blockNumber) ?? chain.blockAt(blockNumber);
      times.set(blockNumber, time);
      if (((await time)?.timestamp ?? 0) > expirationTimestamp) lateBlocks.add(blockNumber);
    }
    const isSwept = anchor.number > watch.markedBlock;
    observed.push({ watch, status, paid: { payments: mine, isSwept, lateBlocks } });
  }
  return observed;
}

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
 * When to read an address again. Payments mark a watch; other changes are found by reading again.
 * An address that is funded may be executed by anybody, and one that is over may be emptied by
 * anybody; the clock makes an open one expire.
 */
function nextReading({ watch, status, paid }: Observed, nowMs: number): number | null {
  const { state, block, expirationTimestamp, recoverable } = status;
  const soon = nowMs + waitMs(watch.known.state === state ? watch.readings : 0);
  if (isWaitingForSweep(watch.known.payments, status, paid)) return soon;
  if (isOpenState(state)) {
    // By the chain's clock, as far as the host's goes with it.
    const secondsLeft = expirationTimestamp - block.timestamp + 1;
    const atExpiry = nowMs + Math.max(1_000, secondsLeft * 1000);
    return state === "funded" ? Math.min(soon, atExpiry) : atExpiry;
  }
  return state === "expired" || recoverable.length > 0 ? soon : null;
}

const waitMs = (readings: number) => backoff(readings + 1, readingMsMin, readingMsMax);
