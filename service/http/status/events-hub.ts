// Event streams, made for many of them: each chain's head is read once for all streams, each
// address is read and encoded once for all of its streams, and no stream has a timer.
//
// A stream is a place in the short history of its address's frames. Opening, resuming, and going on
// after a slow reader's socket drained are the same step: send the frames behind that place, or the
// present state if the place is no longer in the history.

import type { ServerResponse } from "node:http";
import type { Hex } from "executable-address";
import type { BlockReference, ServiceStatus, StatusSubject } from "executable-address/status";
import { defaultEventLimits, type EventLimits } from "../limits.ts";
import { append, type Frame, failureOf, frameOf, framesAfter, isChange, pingOf } from "./frames.ts";
import { type From, shareStreams } from "./shares.ts";
import type { Statuses } from "./source.ts";

type Reads = Pick<Statuses, "nextHead" | "read" | "readAt">;

type Stream = { response: Out; lastId: string | undefined; missedBeats: number };
type Out = Pick<ServerResponse, "write" | "end" | "destroy" | "writableNeedDrain" | "on">;

/** The newest block of each chain when it was last read; undefined where that failed. */
type Heads = Map<number, BlockReference | undefined>;

type Watch = {
  subject: StatusSubject;
  streams: Set<Stream>;
  /** Oldest first; the last is the present state. */
  frames: Frame[];
  isReading: boolean;
  /** The newest block it was read at. */
  readNumber: number | undefined;
  /** The frame sent when the last reading failed; undefined after one that did not. */
  failure: Buffer | undefined;
  lingering: NodeJS.Timeout | undefined;
};

/** State that all streams share. */
type Followed = {
  readonly statuses: Reads;
  readonly watches: Map<Hex, Watch>;
  readonly heads: Heads;
  isClosed: boolean;
};

/** Four seconds of a chain with a block every quarter of a second. */
const blocksBetweenMax = 16;
/** A stream whose reader took nothing for so many heartbeats is closed. */
const missedBeatsMax = 3;

export function openEventHub(statuses: Reads, change: Partial<EventLimits> = {}) {
  const limits = { ...defaultEventLimits, ...change };
  const { streamsMax, pollMs, heartbeatMs, lingerMs } = limits;
  const shares = shareStreams(limits);
  const all: Followed = { statuses, watches: new Map(), heads: new Map(), isClosed: false };
  const { watches, heads } = all;
  const beats = setInterval(() => beat(watches.values(), heads), heartbeatMs).unref();

  function watchOf(subject: StatusSubject): Watch {
    let watch = watches.get(subject.address);
    if (!watch) {
      watch = newWatch(subject);
      watches.set(subject.address, watch);
      void refresh(statuses, watch);
    }
    clearTimeout(watch.lingering);
    const { chainId } = subject.intent;
    if (!heads.has(chainId)) void follow(all, chainId, pollMs);
    return watch;
  }

  /** Forgets a watch without streams: in a while, or at once where there are many. */
  function linger(watch: Watch): void {
    const drop = () => watches.delete(watch.subject.address);
    if (all.isClosed || watches.size > streamsMax / 2) drop();
    else watch.lingering = setTimeout(drop, lingerMs).unref();
  }

  return {
    streams: shares.streams,
    hasRoom: shares.hasRoom,
    /** Sends to `response` until it closes. Call the answer then. */
    open(
      subject: StatusSubject,
      from: From,
      lastId: string | undefined,
      response: Out,
    ): () => void {
      const leave = shares.enter(subject.address, from);
      const watch = watchOf(subject);
      const stream: Stream = { response, lastId, missedBeats: 0 };
      watch.streams.add(stream);
      response.on("drain", () => deliver(watch, stream));
      deliver(watch, stream);
      if (watch.failure) response.write(watch.failure);
      return () => {
        if (!watch.streams.delete(stream)) return;
        leave();
        if (watch.streams.size === 0) linger(watch);
      };
    },
    /** Ends every stream; clients come back by themselves, to another server. */
    close() {
      all.isClosed = true;
      clearInterval(beats);
      for (const { streams } of watches.values()) {
        for (const { response } of streams) response.end();
      }
    },
  };
}

/** Follows a chain as long as anybody watches an address of it. */
async function follow(all: Followed, chainId: number, pollMs: number) {
  const { statuses, watches, heads } = all;
  heads.set(chainId, undefined);
  for (;;) {
    const head = await statuses.nextHead(chainId, pollMs).catch(() => undefined);
    const watched = [...watches.values()].filter((w) => w.subject.intent.chainId === chainId);
    if (all.isClosed || watched.length === 0) break;
    const isOther = head?.hash !== heads.get(chainId)?.hash;
    const stale = watched.filter((watch) => isOther || watch.failure);
    await Promise.all(stale.map((watch) => refresh(statuses, watch)));
    heads.set(chainId, head);
    if (!head) await new Promise((resolve) => setTimeout(resolve, pollMs).unref());
  }
  heads.delete(chainId);
}

/**
 * Keeps connections alive, and cuts off those whose reader takes nothing. A ping tells that nothing
 * changed up to its block, which is null while the chain cannot be read.
 */
function beat(watches: Iterable<Watch>, heads: Heads) {
  for (const { streams, subject, failure } of watches) {
    const head = failure ? undefined : heads.get(subject.intent.chainId);
    const ping = pingOf(head);
    for (const stream of streams) {
      stream.missedBeats = stream.response.writableNeedDrain ? stream.missedBeats + 1 : 0;
      if (stream.missedBeats >= missedBeatsMax) stream.response.destroy();
      else if (stream.missedBeats === 0) stream.response.write(ping);
    }
  }
}

/** Reads a watch anew and tells its streams what changed. */
async function refresh(statuses: Reads, watch: Watch) {
  // A slow reading must not come after a newer one.
  if (watch.isReading) return;
  watch.isReading = true;
  try {
    const status = await statuses.read(watch.subject);
    const recovered = watch.failure !== undefined;
    watch.failure = undefined;
    if (isChange(watch.frames, frameOf(status))) {
      for (const each of [...(await readBetween(statuses, watch, status)), status])
        append(watch.frames, each);
      for (const stream of watch.streams) deliver(watch, stream);
    } else if (recovered) {
      for (const stream of watch.streams) stream.response.write(watch.frames.at(-1)!.bytes);
    }
    watch.readNumber = status.block.number;
  } catch (error) {
    if (watch.failure) return;
    watch.failure = failureOf(error);
    for (const stream of watch.streams) stream.response.write(watch.failure);
  } finally {
    watch.isReading = false;
  }
}

/** Statuses at the blocks between two readings, such as of a payment that was executed at once. */
async function readBetween(
  statuses: Reads,
  { subject, readNumber }: Watch,
  { block }: ServiceStatus,
) {
  const from = Math.max(readNumber ?? block.number, block.number - blocksBetweenMax);
  const between: Promise<ServiceStatus | undefined>[] = [];
  for (let number = from + 1; number < block.number; number++) {
    between.push(statuses.readAt(subject, number).catch(() => undefined));
  }
  return (await Promise.all(between)).filter((status) => status !== undefined);
}

const newWatch = (subject: StatusSubject): Watch => ({
  subject,
  streams: new Set(),
  frames: [],
  isReading: false,
  readNumber: undefined,
  failure: undefined,
  lingering: undefined,
});

/** Sends what follows the stream's place, as far as its socket takes it. */
function deliver(watch: Watch, stream: Stream): void {
  for (const frame of framesAfter(watch.frames, stream.lastId)) {
    if (stream.response.writableNeedDrain) return;
    stream.lastId = frame.id;
    stream.response.write(frame.bytes);
  }
}
