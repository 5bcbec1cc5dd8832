// GET /address/{address}/events. Sends the current status, and then each new status. The format is
// server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
//
// The server can have many open streams, so each stream must be cheap. All streams of a chain share
// the chain's polling loop. All streams of an address share its status, which the server reads and
// encodes only once. No stream has its own timer.
//
// A frame is one encoded status event. For each address, the server keeps a short history of
// frames. For each stream, the server stores the ID of the client's last frame. The server then
// sends all later frames to the stream. A slow client's last frame may no longer be in the history.
// The server then sends this client only the current frame.

import { hash } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Hex } from "executable-address";
import type { BlockReference, ServiceStatus, StatusSubject } from "executable-address/status";
import { Gauge } from "prom-client";
import { networkOf, wideNetworkOf } from "../../flow/networks.ts";
import { toAnswer, unavailable } from "../errors.ts";
import { addressOf } from "../input.ts";
import { defaultEventLimits, type EventLimits, eventLimitsWithin } from "../limits.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "./status.ts";

/** How long a client waits before it reconnects. */
const reconnectMs = 2_000;

export function events(parts: Parts, statuses: Statuses): Route {
  const { metrics, draining, log } = parts;
  const hub = openEventHub(
    { ...statuses, chainLoop: parts.chainLoop },
    eventLimitsWithin(parts.limits.connectionsMax, parts.eventLimits),
  );
  draining.addEventListener("abort", () => hub.close(), { once: true });
  new Gauge({
    name: "event_streams",
    help: "Open event streams",
    registers: [metrics.registry],
    collect() {
      this.set(hub.countStreams());
    },
  });

  return {
    async handler(request, reply) {
      const subject = await statuses.readSubject(addressOf(request));
      const from = { client: networkOf(request.ip), network: wideNetworkOf(request.ip) };
      reply.header("content-type", "text/event-stream; charset=utf-8");
      // Without `connection: close`, the connection would stay open after the stream ends. An open
      // connection would delay the server's drain.
      reply.header("connection", "close");
      // Asks proxies not to buffer the stream, because buffering would delay events.
      reply.header("x-accel-buffering", "no");
      if (request.method === "HEAD") return reply.send();
      const full = draining.aborted
        ? "the server is shutting down"
        : hub.findFull(subject.address, from);
      if (full) throw unavailable(`cannot open another stream: ${full}`, 5);
      const lastId = request.headers["last-event-id"];
      const headers = reply.getHeaders();
      reply.hijack();
      const response: ServerResponse = reply.raw;
      response.writeHead(200, headers as Record<string, string>);
      response.write(`retry: ${reconnectMs}\n\n`);
      response.on("error", (err) => log.debug({ err }, "an event stream failed"));
      const place = typeof lastId === "string" ? lastId : undefined;
      const close = hub.open(subject, from, place, response);
      response.once("close", close);
    },
  };
}

type HubParts = Pick<Statuses, "read" | "readAt"> & Pick<Parts, "chainLoop">;

type Stream = { response: Out; lastId: string | undefined; missedPings: number };
type Out = Pick<ServerResponse, "write" | "end" | "destroy" | "writableNeedDrain" | "on">;

/**
 * An encoded status event. `id` contains the block number, and a digest of the status without its
 * block. If the digests of two frames differ, the status has changed.
 */
type Frame = { id: string; bytes: Buffer };

type FollowedAddress = {
  subject: StatusSubject;
  streams: Set<Stream>;
  /** The recent frames, oldest first. The last frame contains the current status. */
  frames: Frame[];
  isReading: boolean;
  /** The block of the last successful read. */
  readAt: BlockReference | undefined;
  /** The last error event, if the last read failed; otherwise undefined. */
  failure: Buffer | undefined;
  lingering: NodeJS.Timeout | undefined;
};

/**
 * A chain with at least one followed address. `head` is the newest block for which all followed
 * addresses were updated. It is undefined if the newest block could not be read.
 */
type FollowedChain = { head: BlockReference | undefined; stop(): void };

/** The state shared by all streams. */
type Hub = {
  readonly parts: HubParts;
  readonly addresses: Map<Hex, FollowedAddress>;
  readonly chains: Map<number, FollowedChain>;
  isClosed: boolean;
};

/**
 * The maximum number of blocks per read. If a status has changed, the server reads it at each block
 * since the last read. If there are more blocks than this maximum, the server skips the oldest
 * blocks. On a chain with four blocks per second, this number of blocks spans four seconds.
 */
const blocksBetweenMax = 16;
/** The number of consecutive pings after which a stream is closed if its client reads nothing. */
const missedPingsMax = 3;
const framesMax = 16;

export function openEventHub(parts: HubParts, change: Partial<EventLimits> = {}) {
  const limits = { ...defaultEventLimits, ...change };
  const { streamsMax, pingMs, lingerMs } = limits;
  const shares = openShares(limits);
  const hub: Hub = { parts, addresses: new Map(), chains: new Map(), isClosed: false };
  const { addresses } = hub;
  const pinging = setInterval(() => sendPings(hub), pingMs).unref();

  function findOrAdd(subject: StatusSubject): FollowedAddress {
    let followed = addresses.get(subject.address);
    if (!followed) {
      followed = newFollowed(subject);
      addresses.set(subject.address, followed);
      void refresh(parts, followed);
    }
    clearTimeout(followed.lingering);
    const { chainId } = subject.intent;
    if (!hub.chains.has(chainId)) follow(hub, chainId);
    return followed;
  }

  /**
   * Forgets an address that has no streams left. Waits for {@link EventLimits.lingerMs} first,
   * unless the server follows many addresses.
   */
  function linger(followed: FollowedAddress): void {
    const drop = () => addresses.delete(followed.subject.address);
    if (hub.isClosed || addresses.size > streamsMax / 2) drop();
    else followed.lingering = setTimeout(drop, lingerMs).unref();
  }

  return {
    countStreams: shares.countStreams,
    findFull: shares.findFull,
    /**
     * Starts to send frames to `response`. Call the returned function when the response has closed.
     */
    open(
      subject: StatusSubject,
      from: From,
      lastId: string | undefined,
      response: Out,
    ): () => void {
      const leave = shares.enter(subject.address, from);
      const followed = findOrAdd(subject);
      const stream: Stream = { response, lastId, missedPings: 0 };
      followed.streams.add(stream);
      response.on("drain", () => deliver(followed, stream));
      deliver(followed, stream);
      if (followed.failure) response.write(followed.failure);
      return () => {
        if (!followed.streams.delete(stream)) return;
        leave();
        if (followed.streams.size === 0) linger(followed);
      };
    },
    /** Ends all streams, so that clients reconnect to another server. */
    close() {
      hub.isClosed = true;
      clearInterval(pinging);
      for (const { stop } of hub.chains.values()) stop();
      for (const { streams } of addresses.values()) {
        for (const { response } of streams) response.end();
      }
    },
  };
}

/** Subscribes to the chain's polling loop while the server follows addresses on this chain. */
function follow({ parts, addresses, chains }: Hub, chainId: number): void {
  const followed: FollowedChain = { head: undefined, stop: () => {} };
  chains.set(chainId, followed);
  const loop = parts.chainLoop(chainId);
  const end = loop.subscribe(async () => {
    const onChain = [...addresses.values()].filter((w) => w.subject.intent.chainId === chainId);
    if (onChain.length === 0) {
      followed.stop();
      return;
    }
    const head = await loop.readHead().catch(() => undefined);
    const stale = onChain.filter(({ readAt, failure }) => failure || readAt?.hash !== head?.hash);
    await Promise.all(stale.map((followed) => refresh(parts, followed)));
    followed.head = head;
  });
  followed.stop = () => {
    chains.delete(chainId);
    // Does not wait until `end()` resolves, because `end()` waits for the current call of the
    // subscriber. That call may be the caller of this function, so waiting could cause a deadlock.
    void end();
  };
}

/**
 * Sends a ping to each stream, and disconnects clients that read nothing. A ping contains the
 * newest block for which the status was checked. It contains null if the chain is unreadable.
 */
function sendPings({ addresses, chains }: Hub) {
  for (const { streams, subject, failure } of addresses.values()) {
    const head = failure ? undefined : chains.get(subject.intent.chainId)?.head;
    const ping = encodePing(head);
    for (const stream of streams) {
      stream.missedPings = stream.response.writableNeedDrain ? stream.missedPings + 1 : 0;
      if (stream.missedPings >= missedPingsMax) stream.response.destroy();
      else if (stream.missedPings === 0) stream.response.write(ping);
    }
  }
}

/** Reads the status of a followed address again, and sends changes to the address's streams. */
async function refresh(statuses: HubParts, followed: FollowedAddress) {
  // Runs only one read per address at a time. Otherwise, a slow read could replace the result of a
  // later read.
  if (followed.isReading) return;
  followed.isReading = true;
  try {
    const status = await statuses.read(followed.subject);
    const recovered = followed.failure !== undefined;
    followed.failure = undefined;
    if (isChange(followed.frames, encodeFrame(status))) {
      for (const each of [...(await readBetween(statuses, followed, status)), status])
        append(followed.frames, each);
      for (const stream of followed.streams) deliver(followed, stream);
    } else if (recovered) {
      for (const stream of followed.streams) stream.response.write(followed.frames.at(-1)!.bytes);
    }
    followed.readAt = status.block;
  } catch (error) {
    if (followed.failure) return;
    followed.failure = encodeFailure(error);
    for (const stream of followed.streams) stream.response.write(followed.failure);
  } finally {
    followed.isReading = false;
  }
}

/**
 * Reads the statuses at the blocks since the previous read. Streams can then report short-lived
 * states, such as a payment before its execution.
 */
async function readBetween(
  statuses: HubParts,
  { subject, readAt }: FollowedAddress,
  { block }: ServiceStatus,
) {
  const from = Math.max(readAt?.number ?? block.number, block.number - blocksBetweenMax);
  const between: Promise<ServiceStatus | undefined>[] = [];
  for (let number = from + 1; number < block.number; number++) {
    between.push(statuses.readAt(subject, number).catch(() => undefined));
  }
  return (await Promise.all(between)).filter((status) => status !== undefined);
}

const newFollowed = (subject: StatusSubject): FollowedAddress => ({
  subject,
  streams: new Set(),
  frames: [],
  isReading: false,
  readAt: undefined,
  failure: undefined,
  lingering: undefined,
});

/** Sends the pending frames of the stream until the socket's buffer is full. */
function deliver(followed: FollowedAddress, stream: Stream): void {
  for (const frame of findFramesAfter(followed.frames, stream.lastId)) {
    if (stream.response.writableNeedDrain) return;
    stream.lastId = frame.id;
    stream.response.write(frame.bytes);
  }
}

/** Adds a frame for `status` if the status has changed. */
function append(frames: Frame[], status: ServiceStatus): void {
  const frame = encodeFrame(status);
  if (!isChange(frames, frame)) return;
  frames.push(frame);
  if (frames.length > framesMax) frames.shift();
}

const isChange = (frames: readonly Frame[], frame: Frame) =>
  readDigest(frame.id) !== readDigest(frames.at(-1)?.id);

/**
 * Returns the frames after `lastId`. If `lastId` is not in the history, returns only the current
 * frame. Returns nothing if the current status has the digest in `lastId`.
 */
function findFramesAfter(frames: readonly Frame[], lastId: string | undefined): Frame[] {
  const place = frames.findIndex((frame) => frame.id === lastId);
  if (place >= 0) return frames.slice(place + 1);
  const present = frames.at(-1);
  return present && readDigest(present.id) !== readDigest(lastId) ? [present] : [];
}

function encodeFrame(status: ServiceStatus): Frame {
  const { block, ...rest } = status;
  const digest = hash("sha256", JSON.stringify(rest), "base64url").slice(0, 16);
  const id = `${block.number}.${digest}`;
  return { id, bytes: encodeEvent("status", JSON.stringify(status), `id: ${id}\n`) };
}

const readDigest = (id: string | undefined) => id?.split(".")[1];

/** Encodes a ping. A ping has no ID, so a reconnecting client resumes after its last status. */
function encodePing(head: BlockReference | undefined): Buffer {
  const block = head ? { number: head.number, timestamp: head.timestamp } : null;
  return encodeEvent("ping", JSON.stringify({ block }));
}

/**
 * Encodes an error event. An error event has no ID, so a reconnecting client resumes after its last
 * status.
 */
const encodeFailure = (error: unknown): Buffer => encodeEvent("unavailable", toAnswer(error).body);

/** The names of the events in a stream. The OpenAPI document describes each event. */
export const streamEvents = ["status", "unavailable", "ping"] as const;

const encodeEvent = (name: (typeof streamEvents)[number], data: string, idLine = ""): Buffer =>
  Buffer.from(`${idLine}event: ${name}\ndata: ${data}\n\n`);

/**
 * The origin of a stream. `client` is one IPv4 address or a /64 network of IPv6. `network` is a /24
 * network of IPv4 or a /48 network of IPv6.
 */
type From = { readonly client: string; readonly network: string };

/** Returns the maximum number of streams per network. */
const shareOf = (streams: number) => Math.ceil((3 * streams) / 4);

/**
 * Counts streams. Because of the limits, no single address, client, or network can use up all
 * streams.
 */
function openShares({ streamsMax, streamsPerAddressMax, streamsPerClientMax }: EventLimits) {
  const counts = new Map<string, number>();
  const countAt = (place: string) => counts.get(place) ?? 0;

  /**
   * Returns the limits for a stream, each with its counter's key, its maximum, and its description.
   */
  const placesOf = (address: Hex, { client, network }: From) =>
    [
      ["all", streamsMax, "this server"],
      [address, streamsPerAddressMax, "this address"],
      [client, streamsPerClientMax, "one client"],
      [`of ${network}`, shareOf(streamsMax), "one network"],
      [`${address} ${network}`, shareOf(streamsPerAddressMax), "this address from one network"],
    ] as const;

  function leave(place: string): void {
    if (countAt(place) > 1) counts.set(place, countAt(place) - 1);
    else counts.delete(place);
  }

  return {
    countStreams: () => countAt("all"),
    /** Returns a message if another stream would exceed a limit, and otherwise undefined. */
    findFull(address: Hex, from: From): string | undefined {
      const full = placesOf(address, from).find(([place, most]) => countAt(place) >= most);
      if (!full) return undefined;
      const [place, most, description] = full;
      return `expected at most ${most} streams of ${description}, found ${countAt(place) + 1}`;
    },
    /** Counts a new stream. Call the returned function once, when the stream has ended. */
    enter(address: Hex, from: From): () => void {
      const places = placesOf(address, from).map(([place]) => place);
      for (const place of places) counts.set(place, countAt(place) + 1);
      return () => places.forEach(leave);
    },
  };
}
