import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestClient, http } from "viem";
import { anvilChain, startAnvil } from "../../../contracts/anvil.ts";
import { followHeads, type HeadWaitOptions } from "./heads-by-websocket.ts";

const long = 60_000;

/** Starts a chain and follows its new blocks. The test can disconnect the chain's WebSocket. */
async function start(context: TestContext, more: Partial<HeadWaitOptions> = {}) {
  const stopping = new AbortController();
  const anvil = await startAnvil();
  const client = createTestClient({
    chain: anvilChain,
    mode: "anvil",
    transport: http(anvil.rpcUrl),
  });
  const { port } = new URL(anvil.rpcUrl);
  const cut: Socket[] = [];
  let opened = 0;
  const way = createServer((socket: Socket) => {
    opened++;
    const there = connect(Number(port), "127.0.0.1");
    socket.pipe(there).pipe(socket);
    for (const each of [socket, there]) each.on("error", () => {});
    cut.push(socket, there);
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  const url = `ws://127.0.0.1:${(way.address() as AddressInfo).port}`;
  const options = { stopping: stopping.signal, quietMs: long, retryMs: 20, ...more };
  const heads = followHeads([url], options);
  context.after(async () => {
    stopping.abort();
    for (const socket of cut) socket.destroy();
    way.close();
    await anvil.stop();
  });
  return {
    heads,
    stopping,
    mine: () => client.mine({ blocks: 1 }),
    cutAll: () => cut.splice(0).forEach((socket) => void socket.destroy()),
    opened: () => opened,
  };
}

describe("a wait for a new block", () => {
  test("ends at its timeout if no WebSocket reports blocks", async () => {
    const { signal } = new AbortController();
    const heads = followHeads(["ws://127.0.0.1:1"], { stopping: signal, quietMs: long });
    await heads.wait(5);
    await followHeads([], { stopping: signal, quietMs: long }).wait(5);
  });

  test("ends at the next block while a WebSocket is open", async (context) => {
    const world = await start(context);
    while (!(await isLong(world))) await world.mine();
    const waiting = world.heads.wait(1);
    assert.ok(await outlastsPlain(waiting));
    await world.mine();
    await waiting;
  });

  test("ends at the next block even if the WebSocket was closed and reopened", async (context) => {
    const world = await start(context);
    while (!(await isLong(world))) await world.mine();
    const before = world.opened();
    world.cutAll();
    while (world.opened() === before) await world.heads.wait(5);
    while (!(await isLong(world))) await world.mine();
  });

  test("ends when the service stops", async (context) => {
    const world = await start(context);
    while (!(await isLong(world))) await world.mine();
    const waiting = world.heads.wait(1);
    world.stopping.abort();
    await waiting;
  });
});

/**
 * Returns whether `heads.wait(1)` waits until the next block, and not only for 1 ms. Then mines
 * this block, so that the wait ends.
 */
async function isLong({ heads, mine }: Awaited<ReturnType<typeof start>>): Promise<boolean> {
  await heads.wait(1);
  const waiting = heads.wait(1);
  const found = await outlastsPlain(waiting);
  await mine();
  await Promise.race([waiting, sleep(500)]);
  return found;
}

/** Returns whether `waiting` is still pending after ten sleeps of 1 ms, one after another. */
async function outlastsPlain(waiting: Promise<void>): Promise<boolean> {
  let isOver = false;
  void waiting.then(() => {
    isOver = true;
  });
  for (let i = 0; i < 10; i++) await sleep(1);
  return !isOver;
}
