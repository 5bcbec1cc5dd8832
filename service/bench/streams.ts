// Measures the cost of open event streams: the server's memory per stream, and the delivery time.
// The delivery time is the time from a block until the last stream receives it. The server runs in
// this process. The clients are raw sockets in a separate process, so that their memory is not
// included. `node service/bench/streams.ts [streams]`

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { startApp } from "../testing/app.ts";
import { chainsAt, keepRecord } from "../testing/app-on-chain.ts";
import { startWorld } from "../testing/chain/world.ts";

if (process.argv[2] === "clients") await openClients(process.argv.slice(3));
else await measure(Number(process.argv[2] ?? 1000));

async function measure(count: number) {
  const world = await startWorld();
  const draining = new AbortController();
  const server = await startApp({
    chains: chainsAt(world),
    draining: draining.signal,
    limits: { connectionsMax: 16 * count },
    // All clients are in one network, which can open at most three quarters of an address's
    // streams.
    eventLimits: { streamsPerAddressMax: 2 * count, streamsPerClientMax: count },
  });
  const base = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const many = [];
  for (let i = 0; i < count; i++) many.push(await keepRecord(server, await world.newRecord()));
  // Opens a few streams first, because the first stream loads code that must not be measured.
  await (await open(base, [many[0]!.address], 20)).close();
  await sleep(500);

  for (const addresses of [many.slice(0, 1), many]) {
    const before = memory();
    const start = performance.now();
    const clients = await open(
      base,
      addresses.map(({ address }) => address),
      count,
    );
    const openMs = performance.now() - start;
    await sleep(500);
    const after = memory();
    const receivedMs: number[] = [];
    for (let round = 0; round < 5; round++) {
      const received = clients.received(addresses.length === 1 ? count : 1);
      await world.pay(addresses[0]!.address, 1n);
      const paid = performance.now();
      await received;
      receivedMs.push(performance.now() - paid);
      await sleep(150);
    }
    console.log({
      streams: count,
      addresses: addresses.length,
      openMs: Math.round(openMs),
      rssKibPerStream: Math.round((after.rss - before.rss) / count / 1024),
      heapKibPerStream: Math.round(((after.heapUsed - before.heapUsed) / count / 1024) * 10) / 10,
      receivedMsMedian: Math.round(receivedMs.sort((a, b) => a - b)[2]!),
    });
    await clients.close();
    await sleep(500);
  }
  draining.abort();
  await server.close();
  await world.stop();
}

/** Returns the memory that is still in use after a full garbage collection. */
function memory() {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage();
}

/**
 * Opens streams from a separate process. `received(more)` resolves when all streams together have
 * received `more` additional messages.
 */
async function open(base: string, addresses: string[], count: number) {
  const args = [import.meta.filename, "clients", base, String(count), ...addresses];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  let seen = 0;
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    seen = Number(line);
  });
  const until = async (wanted: number) => {
    while (seen < wanted) await sleep(2);
  };
  await until(count);
  return {
    received: async (more: number) => {
      const wanted = seen + more;
      await until(wanted);
    },
    async close() {
      child.kill();
      await once(child, "exit");
    },
  };
}

/** Opens the streams. Prints the total number of received messages when it changes. */
async function openClients([base, count, ...addresses]: string[]) {
  const { hostname, port } = new URL(base!);
  let received = 0;
  for (let i = 0; i < Number(count); i++) {
    const socket = connect(Number(port), hostname);
    const path = `/v1/address/${addresses[i % addresses.length]}/events`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1").split("event: status").length - 1;
    });
    if (i % 50 === 0) await sleep(5);
  }
  let printed = 0;
  setInterval(() => {
    if (received !== printed) process.stdout.write(`${received}\n`);
    printed = received;
  }, 2);
}
