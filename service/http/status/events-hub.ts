// Event streams, cheap in number: one look at each chain's head for all of them, one reading and
// one encoding of each address for all of its streams, and no timer of a stream's own.
//
// A stream is a place in its address's short history of frames. Opening, resuming and catching up
// after a slow reader's socket drained are one thing: send what follows that place, or the present
// state where the place is not known any more.

import { hash } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Hex } from "executable-address";
import type { BlockReference, ServiceStatus } from "executable-address/status";
import type { Subject } from "../../chain/status/status.ts";
import { toAnswer } from "../errors.ts";
import { defaultEventLimits, type EventLimits } from "./events-limits.ts";
import type { Statuses } from "./source.ts";

type Reads = Pick<Statuses, "head" | "read" | "readAt">;

/** `id` is the block's number and a digest of all but the block: what a change is. */
type Frame = { id: string; bytes: Buffer };

type Stream = { response: Out; lastId: string | undefined; missedBeats: number };
type Out = Pick<ServerResponse, "write" | "end" | "destroy" | "writableNeedDrain" | "on">;

/** `head`: the newest block at the last look; undefined where that failed. */
type Chain = { head: BlockReference | undefined };

type Watch = {
  subject: Subject;
  streams: Set<Stream>;
  /** Oldest first; the last is the present state. */
  frames: Frame[];
  isReading: boolean;
  /** The newest block it was read at. */
  readNumber: number | undefined;
  /** Why the present state is not known to be present, as it is told. */
  failure: Buffer | undefined;
  lingering: NodeJS.Timeout | undefined;
};

const framesMax = 16;
/** Of a chain with a block every quarter of a second, four seconds. */
const blocksBetweenMax = 16;
/** A reader that took nothing for so many heartbeats is gone or hostile. */
const missedBeatsMax = 3;

export type EventHub = ReturnType<typeof openEventHub>;

export function openEventHub(statuses: Reads, limits: Partial<EventLimits> = {}) {
  const { streamsMax, streamsPerAddressMax, streamsPerClientMax, ...paces } = {
    ...defaultEventLimits,
    ...limits,
  };
  const { pollMs, heartbeatMs, lingerMs } = paces;
  const byClient = new Map<string, number>();
  const watches = new Map<Hex, Watch>();
  const chains = new Map<number, Chain>();
  let streams = 0;
  let isClosed = false;
  const beats = setInterval(() => beat(watches.values(), chains), heartbeatMs).unref();

  /** Follows a chain as long as anybody watches an address of it. */
  async function follow(chainId: number) {
    const chain: Chain = { head: undefined };
    chains.set(chainId, chain);
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, pollMs).unref());
      const watched = [...watches.values()].filter((w) => w.subject.intent.chainId === chainId);
      if (isClosed || watched.length === 0) break;
      const head = await statuses.head(chainId).catch(() => undefined);
      const stale = watched.filter((watch) => head?.hash !== chain.head?.hash || watch.failure);
      await Promise.all(stale.map((watch) => refresh(statuses, watch)));
      chain.head = head;
    }
    chains.delete(chainId);
  }

  function watchOf(subject: Subject): Watch {
    let watch = watches.get(subject.address);
    if (!watch) {
      watch = newWatch(subject);
      watches.set(subject.address, watch);
      void refresh(statuses, watch);
    }
    clearTimeout(watch.lingering);
    const { chainId } = subject.intent;
    if (!chains.has(chainId)) void follow(chainId);
    return watch;
  }

  function count(client: string, change: 1 | -1) {
    const held = (byClient.get(client) ?? 0) + change;
    if (held > 0) byClient.set(client, held);
    else byClient.delete(client);
  }

  /** @returns false where it had left already */
  function leave(watch: Watch, stream: Stream): boolean {
    if (!watch.streams.delete(stream)) return false;
    streams--;
    if (watch.streams.size > 0) return true;
    const drop = () => watches.delete(watch.subject.address);
    if (isClosed || watches.size > streamsMax / 2) drop();
    else watch.lingering = setTimeout(drop, lingerMs).unref();
    return true;
  }

  return {
    streams: () => streams,
    /** @param client whose share of the streams is bounded too */
    hasRoom: (address: Hex, client: string) =>
      streams < streamsMax &&
      (watches.get(address)?.streams.size ?? 0) < streamsPerAddressMax &&
      (byClient.get(client) ?? 0) < streamsPerClientMax,
    /** Sends to `response` until it closes. Call the answer then. */
    open(subject: Subject, client: string, lastId: string | undefined, response: Out): () => void {
      count(client, 1);
      const watch = watchOf(subject);
      const stream: Stream = { response, lastId, missedBeats: 0 };
      watch.streams.add(stream);
      streams++;
      response.on("drain", () => deliver(watch, stream));
      deliver(watch, stream);
      if (watch.failure) response.write(watch.failure);
      return () => {
        if (leave(watch, stream)) count(client, -1);
      };
    },
    /** Ends every stream; clients come back by themselves, to another server. */
    close() {
      isClosed = true;
      clearInterval(beats);
      for (const { streams } of watches.values()) {
        for (const { response } of streams) response.end();
      }
    },
  };
}

/**
 * Keeps connections alive, and cuts off those whose reader takes nothing. A ping tells that nothing
 * changed up to its block, which is null while the chain cannot be read.
 */
function beat(watches: Iterable<Watch>, chains: ReadonlyMap<number, Chain>) {
  for (const { streams, subject, failure } of watches) {
    const head = failure ? undefined : chains.get(subject.intent.chainId)?.head;
    const ping = pingOf(head);
    for (const stream of streams) {
      stream.missedBeats = stream.response.writableNeedDrain ? stream.missedBeats + 1 : 0;
      if (stream.missedBeats >= missedBeatsMax) stream.response.destroy();
      else if (stream.missedBeats === 0) stream.response.write(ping);
    }
  }
}

/** Without an id, so that a client that comes back resumes from the last state it was told. */
function pingOf(head: BlockReference | undefined): Buffer {
  const block = head ? { number: head.number, timestamp: head.timestamp } : null;
  return Buffer.from(`event: ping\ndata: ${JSON.stringify({ block })}\n\n`);
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
    if (isChange(watch, frameOf(status))) {
      for (const each of [...(await readBetween(statuses, watch, status)), status])
        append(watch, each);
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

/** What was true at the blocks between two looks: a payment, say, that was executed at once. */
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

const newWatch = (subject: Subject): Watch => ({
  subject,
  streams: new Set(),
  frames: [],
  isReading: false,
  readNumber: undefined,
  failure: undefined,
  lingering: undefined,
});

function isChange(watch: Watch, frame: Frame): boolean {
  return digestOf(frame.id) !== digestOf(watch.frames.at(-1)?.id);
}

function append(watch: Watch, status: ServiceStatus): void {
  const frame = frameOf(status);
  if (!isChange(watch, frame)) return;
  watch.frames.push(frame);
  if (watch.frames.length > framesMax) watch.frames.shift();
}

/** Sends what follows the stream's place, as far as its socket takes it. */
function deliver(watch: Watch, stream: Stream): void {
  for (const frame of framesAfter(watch.frames, stream.lastId)) {
    if (stream.response.writableNeedDrain) return;
    stream.lastId = frame.id;
    stream.response.write(frame.bytes);
  }
}

function framesAfter(frames: Frame[], lastId: string | undefined): Frame[] {
  const place = frames.findIndex((frame) => frame.id === lastId);
  if (place >= 0) return frames.slice(place + 1);
  const present = frames.at(-1);
  return present && digestOf(present.id) !== digestOf(lastId) ? [present] : [];
}

function frameOf(status: ServiceStatus): Frame {
  const { block, ...rest } = status;
  const digest = hash("sha256", JSON.stringify(rest), "base64url").slice(0, 16);
  const id = `${block.number}.${digest}`;
  const bytes = Buffer.from(`id: ${id}\nevent: status\ndata: ${JSON.stringify(status)}\n\n`);
  return { id, bytes };
}

const digestOf = (id: string | undefined) => id?.split(".")[1];

/** Without an id, so that a client that comes back resumes from the last state it was told. */
const failureOf = (error: unknown): Buffer =>
  Buffer.from(`event: unavailable\ndata: ${toAnswer(error).body}\n\n`);
