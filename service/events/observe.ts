// One pass over one chain: reads due addresses at the depth that their account chose, and stores
// what is new as events. Several processes can run it simultaneously: of two observations only the
// first is stored.
//
// It reads no block above the newest anchor of the chain's loop. The loop notices a reorganization
// that undoes an anchor, and makes the observations above the remaining anchor due again.

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
  /** A watch that could not be read, or whose record does not match its address. */
  onFault: (address: string, error: unknown) => void;
};

/** A chain to read from: its blocks, and statuses at one of them. */
export type ObservedChain = Pick<StatusReader, "readAt"> & {
  chainId: number;
  head(): Promise<BlockReference>;
  blockAt(number: number): Promise<BlockReference | undefined>;
};

/** The number of addresses per pass: two batches of the status reader. */
const watchesMax = 300;
const readingMsMin = 15_000;
const readingMsMax = dayMs;

/** @throws if the chain or the store does not answer; nothing is lost, and everything stays due */
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

/**
 * Reads each address at the depth of its account. One that cannot be read does not affect others.
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

/**
 * Adds the payments of each address. The time of a block is requested if it decides whether a
 * payment is late.
 */
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
 * Anyone can execute a funded address or empty one that is over, and an open one expires with time.
 */
function nextReading({ watch, status, paid }: Observed, nowMs: number): number | null {
  const { state, block, expirationTimestamp, recoverable } = status;
  const soon = nowMs + waitMs(watch.known.state === state ? watch.readings : 0);
  if (isWaitingForSweep(watch.known.payments, status, paid)) return soon;
  if (isOpenState(state)) {
    // By the chain's clock, estimated with the host's.
    const secondsLeft = expirationTimestamp - block.timestamp + 1;
    const atExpiry = nowMs + Math.max(1_000, secondsLeft * 1000);
    return state === "funded" ? Math.min(soon, atExpiry) : atExpiry;
  }
  return state === "expired" || recoverable.length > 0 ? soon : null;
}

const waitMs = (readings: number) => backoff(readings + 1, readingMsMin, readingMsMax);
