import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import type { ServiceStatus, StatusSubject } from "executable-address/status";
import { openHeads } from "../../chain/rpc/heads.ts";
import { openChainLoop } from "../../follow/loop.ts";
import { openEventHub } from "./events.ts";

const subject = (digit: string) =>
  ({ address: `0x${digit.repeat(40)}`, intent: { chainId: 1 } }) as StatusSubject;

/**
 * Returns a simulated chain that counts its requests. `pay` mines a block that adds one unit to the
 * balance of every address.
 */
function counted() {
  const asked = { heads: 0, reads: 0 };
  let balance = 0;
  let isAway = false;
  const quantity = (value: number) => `0x${value.toString(16)}` as const;
  const hashOf = (number: number) => `0x${number.toString(16).padStart(64, "0")}` as const;
  const heads = openHeads(async () => {
    asked.heads++;
    if (isAway) throw new Error("away");
    const timestamp = quantity(1_800_000_000 + balance);
    const hash = hashOf(balance);
    return { number: quantity(balance), hash, parentHash: hashOf(0), timestamp };
  }, Date.now);
  const loop = openChainLoop(heads, pollMs);
  const statusAt = (number: number) =>
    ({ block: { number, hash: hashOf(number) }, balance: `${number}` }) as ServiceStatus;
  const parts = {
    chainLoop: () => loop,
    readAt: async (_: StatusSubject, number: number) => statusAt(number),
    async read() {
      asked.reads++;
      return statusAt(balance);
    },
  };
  return { asked, parts, pay: () => balance++, leave: () => (isAway = true) };
}

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] }));
afterEach(() => mock.timers.reset());

/** Advances the simulated time by one millisecond at a time, and waits for the triggered work. */
async function pass(ms: number): Promise<void> {
  for (let i = 0; i < ms; i++) {
    mock.timers.tick(1);
    await new Promise(setImmediate);
  }
}

const pollMs = 5;
const from = { client: "client", network: "network" };
const limits = { pingMs: 10, lingerMs: 50 };

describe("all event streams of one server", () => {
  test("share the requests to the chain", async () => {
    const { asked, parts, pay } = counted();
    const hub = openEventHub(parts, { ...limits, pingMs: 10_000 });
    const outs = Array.from({ length: 100 }, () => new PassThrough());
    for (const out of outs) hub.open(subject("a"), from, undefined, out as never);
    await pass(50);
    assert.equal(asked.reads, 1, "when the first stream opened");
    pay();
    await pass(50);
    assert.equal(asked.reads, 2);
    assert.ok(outs.every((out) => String(out.read()).split("event: status").length === 3));
    assert.equal(asked.heads, 20, "one each 5 ms, however many streams");
    hub.close();
  });

  test("send the state at each block, even with several blocks between two reads", async () => {
    const { parts, pay } = counted();
    const hub = openEventHub(parts, { ...limits, pingMs: 10_000 });
    const out = new PassThrough();
    hub.open(subject("a"), from, undefined, out as never);
    await pass(20);
    for (let i = 0; i < 3; i++) pay();
    await pass(50);
    const balances = [...String(out.read()).matchAll(/"balance":"(\d)"/g)].map((m) => m[1]);
    assert.deepEqual(balances, ["0", "1", "2", "3"]);
    hub.close();
  });

  test("send pings with the newest block, or null if it is unknown", async () => {
    const { parts, pay, leave } = counted();
    const hub = openEventHub(parts, limits);
    const out = new PassThrough();
    hub.open(subject("a"), from, undefined, out as never);
    await pass(12);
    pay();
    await pass(10);
    leave();
    await pass(10);
    const pings = [...String(out.read()).matchAll(/event: ping\ndata: (.*)\n\n/g)];
    assert.deepEqual(
      pings.map(([, data]) => JSON.parse(data!).block),
      [{ number: 0, timestamp: 1_800_000_000 }, { number: 1, timestamp: 1_800_000_001 }, null],
    );
    hub.close();
  });

  test("request no blocks after the last stream has closed", async () => {
    const { asked, parts } = counted();
    const hub = openEventHub(parts, limits);
    const leave = hub.open(subject("a"), from, undefined, new PassThrough() as never);
    await pass(20);
    leave();
    await pass(100);
    const { heads } = asked;
    await pass(50);
    assert.deepEqual([asked.heads, hub.countStreams()], [heads, 0]);
    hub.close();
  });

  test("close a stream if its client reads nothing for three pings", async () => {
    const { parts } = counted();
    const hub = openEventHub(parts, limits);
    const stuck = new Writable({ highWaterMark: 1, write: () => {} });
    stuck.on("close", hub.open(subject("a"), from, undefined, stuck as never));
    const taking = new PassThrough().resume();
    taking.on("close", hub.open(subject("a"), from, undefined, taking as never));
    await pass(100);
    assert.deepEqual([stuck.destroyed, taking.destroyed, hub.countStreams()], [true, false, 1]);
    hub.close();
  });

  test("buffer few bytes for a slow client, and send every event", async () => {
    const { parts, pay } = counted();
    const hub = openEventHub(parts, { ...limits, pingMs: 10_000 });
    const slow = new PassThrough({ highWaterMark: 1 });
    hub.open(subject("a"), from, undefined, slow as never);
    await pass(20);
    for (let i = 0; i < 3; i++) {
      pay();
      await pass(20);
    }
    const heldBytes = slow.writableLength + slow.readableLength;
    let text = "";
    slow.on("data", (chunk) => {
      text += chunk;
    });
    await pass(50);
    const balances = [...text.matchAll(/"balance":"(\d)"/g)].map((match) => match[1]);
    assert.deepEqual(balances, ["0", "1", "2", "3"]);
    const frameBytes = Buffer.byteLength(text) / balances.length;
    // A PassThrough has two buffers, and each buffer contains one frame.
    assert.ok(heldBytes <= 2.1 * frameBytes, `${heldBytes} bytes, where a frame has ${frameBytes}`);
    hub.close();
  });

  test("accept streams from other networks although one network is at its limit", async () => {
    const { parts } = counted();
    const bounds = { streamsMax: 16, streamsPerAddressMax: 8, streamsPerClientMax: 2 };
    const hub = openEventHub(parts, { ...limits, ...bounds });
    const openAll = (digit: string, network: string) => {
      const closes: (() => void)[] = [];
      for (let client = 0; client < 100; client++) {
        const from = { client: `${network} ${client}`, network };
        if (hub.findFull(subject(digit).address, from)) continue;
        closes.push(hub.open(subject(digit), from, undefined, new PassThrough() as never));
      }
      return closes;
    };
    const [first, second] = [openAll("a", "flood"), openAll("b", "flood")];
    assert.deepEqual([first.length, second.length], [6, 6]);
    assert.equal(openAll("c", "flood").length, 0);
    assert.equal(openAll("a", "another").length, 2, "up to the address's eight");
    for (const close of first) close();
    assert.equal(openAll("c", "flood").length, 6);
    await pass(10);
    hub.close();
  });
});
