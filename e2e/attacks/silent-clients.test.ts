// Clients that connect and say nothing, or half of something, or take an answer and never hang up.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { newIntent } from "../../service/http/app-for-tests.ts";
import { type Server, startServer } from "./server-for-tests.ts";

const isLong = process.env.ATTACKS === "long";
const filesMax = 1024;
const halves = isLong ? 5_000 : 1_500;

describe("silent clients, against a server of 1,024 open files", () => {
  let server: Server;
  let sockets: Socket[] = [];
  before(async () => {
    server = await startServer({ filesMax });
  });
  after(() => server.stop());

  /** So many connections that each send `text` and then nothing, and never close their half. */
  const openMany = async (count: number, text: string) => {
    for (let from = 0; from < count; from += 100) {
      const some = Array.from({ length: Math.min(100, count - from) }, () => {
        const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
        socket.on("error", () => {});
        socket.resume();
        socket.write(text);
        return socket;
      });
      await Promise.all(some.map((each) => once(each, "connect").catch(() => {})));
      sockets.push(...some);
    }
  };
  const closeAll = () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
  };
  const isGood = async (timeoutMs = 5_000) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = {
      authorization: `Bearer ${server.apiKey}`,
      "content-type": "application/json",
    };
    const created = await fetch(`${server.base}/v1/address/create`, {
      method: "POST",
      headers,
      body: JSON.stringify(newIntent()),
      signal,
    });
    const { address } = (await created.json()) as { address: string };
    const found = await fetch(`${server.base}/v1/address/${address}`, {
      signal,
    });
    return created.status === 200 && found.status === 200;
  };
  const filesOpen = () => readdirSync(`/proc/${server.process.pid}/fd`).length;

  const attacks: [string, string][] = [
    ["say nothing", ""],
    ["send half a head", "GET /v1/chains HTTP/1.1\r\nHost: x\r\nX-Slow: "],
    ["were told 400 and stay", "hello\r\n\r\n"],
    ["were told 431 and stay", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(17_000)}\r\n\r\n`],
    ["were answered and stay", "GET /v1/chains HTTP/1.1\r\nHost: x\r\n\r\n"],
  ];
  for (const [title, text] of attacks) {
    test(`${halves} that ${title}: good requests go on`, async () => {
      await openMany(halves, text);
      for (let round = 0; round < 5; round++) assert.ok(await isGood());
      if (process.platform === "linux") assert.ok(filesOpen() < filesMax);
      closeAll();
      assert.ok(await isGood());
    });
  }

  test("what is told 400 is let go within seconds, whoever holds on", async () => {
    await openMany(200, "hello\r\n\r\n");
    const deadline = Date.now() + 10_000;
    const ended = Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
    for (const socket of sockets) socket.on("end", () => {});
    await new Promise<void>((resolve, reject) => {
      const timer = setInterval(() => {
        const isFree = process.platform !== "linux" || filesOpen() < 150;
        if (isFree || Date.now() > deadline) {
          clearInterval(timer);
          if (isFree) resolve();
          else reject(new Error(`${filesOpen()} files are still open`));
        }
      }, 100);
    });
    closeAll();
    await ended;
  });

  test("80 creates whose bodies never come, of 60 under way: good ones go on", async () => {
    const open = server;
    server = await startServer({ env: { CREATES_IN_FLIGHT_MAX: "60" } });
    try {
      const credential = `Authorization: Bearer ${server.apiKey}\r\n`;
      const head = `POST /v1/address/create HTTP/1.1\r\nHost: x\r\n${credential}`;
      await openMany(80, `${head}Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{`);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      for (let round = 0; round < 5; round++) assert.ok(await isGood());
    } finally {
      closeAll();
      await server.stop();
      server = open;
    }
  });

  test("the control: without a bound they are all that is served", async () => {
    const bounded = server;
    server = await startServer({ filesMax, env: { CONNECTIONS_MAX: "1000000" } });
    try {
      await openMany(1_500, "GET /v1/chains HTTP/1.1\r\nHost: x\r\nX-Slow: ");
      await assert.rejects(isGood(1_000));
    } finally {
      closeAll();
      await server.stop();
      server = bounded;
    }
  });
});
