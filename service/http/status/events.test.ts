import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ServiceStatus } from "executable-address/status";
import { startApp, type TestApp } from "../../testing/app.ts";
import { chainsAt, keepRecord } from "../../testing/app-on-chain.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";

let world: World;
let server: TestApp;
let base: string;
const draining = new AbortController();
const eventLimits = { pingMs: 60, streamsPerAddressMax: 3, lingerMs: 300 };

type Message = { id?: string; event?: string; data?: string; comment?: string; retry?: string };

/** Opens a stream and reads its messages like a browser, including pings. */
function openStream(path: string, headers: Record<string, string> = {}) {
  const aborting = new AbortController();
  const opening = fetch(path, { headers, signal: aborting.signal });
  const messages = (async function* (): AsyncGenerator<Message> {
    let text = "";
    const body = (await opening).body!;
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const parts = (text + chunk).split("\n\n");
      text = parts.pop()!;
      yield* parts.map((part) =>
        Object.fromEntries(
          part.split("\n").map((line) => {
            const [name, ...value] = line.split(": ");
            return [name || "comment", value.join(": ")];
          }),
        ),
      );
    }
  })();
  const next = async (isWanted: (message: Message) => boolean): Promise<Message> => {
    for (;;) {
      const { value, done } = await messages.next();
      if (done) throw new Error("the stream ended");
      if (isWanted(value)) return value;
    }
  };
  return {
    opening,
    next,
    nextStatus: async () => {
      const message = await next(({ event }) => event === "status");
      return { id: message.id!, status: JSON.parse(message.data!) as ServiceStatus };
    },
    ping: async () => JSON.parse((await next(({ event }) => event === "ping")).data!),
    isOver: () =>
      next(() => false).then(
        () => false,
        () => true,
      ),
    close: () => aborting.abort(),
  };
}

before(async () => {
  world = await startWorld();
  server = await startApp({ chains: chainsAt(world), eventLimits, draining: draining.signal });
  base = await server.app.listen({ host: "127.0.0.1", port: 0 });
});
after(async () => {
  draining.abort();
  const closed = server.close();
  // `fetch` does not close a connection whose response was not read. The server would wait 72 s for
  // such a connection.
  server.app.server.closeAllConnections();
  await closed;
  await world.stop();
});

const pathOf = (address: string) => `${base}/v1/address/${address}/events`;

describe("GET /v1/address/{address}/events", () => {
  test("returns 400 for anything that is not an address", async () => {
    assert.equal((await fetch(pathOf("0x12"))).status, 400);
  });

  test("returns 404 `not_found` if no intent is stored", async () => {
    const answer = await fetch(pathOf(`0x${"5a".repeat(20)}`));
    assert.equal(answer.status, 404);
    assert.match(answer.headers.get("content-type")!, /json/);
  });

  test("returns 503 if too many streams of the address are open", async () => {
    const { address } = await keepRecord(server, await world.newRecord());
    const streams = [1, 2, 3].map(() => openStream(pathOf(address)));
    for (const stream of streams) await stream.nextStatus();
    const answer = await fetch(pathOf(address));
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get("retry-after"), "5");
    const { error } = (await answer.json()) as { error: { message: string } };
    assert.match(error.message, /: expected at most \d+ streams of this address.*, found \d+$/);
    for (const stream of streams) stream.close();
  });
});

describe("GET /v1/address/{address}/events", () => {
  test("begins with the current state, without caching or buffering", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const stream = openStream(pathOf(record.address));
    const answer = await stream.opening;
    assert.equal(answer.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    assert.equal(answer.headers.get("x-accel-buffering"), "no");
    assert.ok(answer.headers.get("x-request-id"));
    const { status } = await stream.nextStatus();
    assert.equal(status.state, "unfunded");
    const present = await fetch(pathOf(record.address).replace("/events", "/status"));
    assert.deepEqual(status, await present.json());
    stream.close();
  });

  test("sends an event for each change of the state, and no event for other blocks", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const stream = openStream(pathOf(record.address));
    const states = [(await stream.nextStatus()).status.state];
    await world.mine(2);
    await world.pay(record.address, 60n);
    states.push((await stream.nextStatus()).status.state);
    await world.pay(record.address, 40n);
    states.push((await stream.nextStatus()).status.state);
    const receipt = await world.execute(record);
    const { status } = await stream.nextStatus();
    states.push(status.state);
    assert.deepEqual(states, ["unfunded", "partially_funded", "funded", "executed"]);
    assert.equal(status.execution?.transactionHash, receipt.transactionHash);
    stream.close();
  });

  test("sends pings while nothing changes", async () => {
    const { address } = await keepRecord(server, await world.newRecord());
    const stream = openStream(pathOf(address));
    const { status } = await stream.nextStatus();
    await stream.ping();
    const { number, timestamp } = status.block;
    assert.deepEqual(await stream.ping(), { block: { number, timestamp } });
    stream.close();
  });

  test("sends the missed events in order after a reconnection", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const watching = openStream(pathOf(record.address));
    const first = openStream(pathOf(record.address));
    const { id } = await first.nextStatus();
    await watching.nextStatus();
    first.close();
    await world.pay(record.address, 60n);
    await watching.nextStatus();
    await world.pay(record.address, 40n);
    const last = await watching.nextStatus();
    const resumed = openStream(pathOf(record.address), { "Last-Event-ID": id });
    assert.equal((await resumed.nextStatus()).status.state, "partially_funded");
    assert.equal((await resumed.nextStatus()).status.state, "funded");
    resumed.close();
    const current = openStream(pathOf(record.address), { "Last-Event-ID": last.id });
    assert.ok((await current.ping()).block);
    await world.pay(record.address, 1n);
    assert.equal((await current.nextStatus()).status.balance, "101");
    current.close();
    watching.close();
  });

  test("begins with the current state if `Last-Event-ID` is too old", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const stream = openStream(pathOf(record.address), { "Last-Event-ID": "1.longago" });
    assert.equal((await stream.nextStatus()).status.state, "unfunded");
    stream.close();
  });

  test("sends the earlier state again after a reorganization", async () => {
    const record = await keepRecord(server, await world.newRecord());
    await world.mine(1);
    const stream = openStream(pathOf(record.address));
    assert.equal((await stream.nextStatus()).status.state, "unfunded");
    await world.pay(record.address, 100n);
    assert.equal((await stream.nextStatus()).status.state, "funded");
    await world.reorg(1);
    assert.equal((await stream.nextStatus()).status.state, "unfunded");
    stream.close();
  });

  test("sends `unavailable` if the chain does not respond, and continues later", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const rpc = server.parts.chains.rpcOf(31_337);
    const { request } = rpc;
    const stream = openStream(pathOf(record.address));
    await stream.nextStatus();
    rpc.request = () => Promise.reject(new Error("down"));
    const { data, id } = await stream.next(({ event }) => event === "unavailable");
    assert.equal(JSON.parse(data!).error.code, "chain_unavailable");
    assert.equal(id, undefined);
    rpc.request = request;
    assert.equal((await stream.nextStatus()).status.state, "unfunded");
    stream.close();
  });

  test("ends when the server shuts down", async () => {
    const own = new AbortController();
    const other = await startApp({ chains: chainsAt(world), eventLimits, draining: own.signal });
    const url = await other.app.listen({ host: "127.0.0.1", port: 0 });
    const record = await keepRecord(other, await world.newRecord());
    const stream = openStream(`${url}/v1/address/${record.address}/events`);
    await stream.nextStatus();
    own.abort();
    assert.ok(await stream.isOver());
    assert.equal((await fetch(`${url}/v1/address/${record.address}/events`)).status, 503);
    await other.close();
  });
});
