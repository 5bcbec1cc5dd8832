// Tests clients that never disconnect. They stop after connecting, after half a request, or after
// the response.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isLong } from "../../scripts/long.ts";
import { newIntent } from "../../service/testing/app.ts";
import { type Deployment, longOr, startProcesses } from "./deployments.ts";
import { type Server, type ServerOptions, startServer } from "./server.ts";

const filesMax = 1024;
type Text = string | ((number: number) => string);

/** The number of connections to each server. */
const halves = isLong ? 5_000 : 1_500;

for (const kind of longOr("one server on SQLite")) {
  describe(`clients that keep connections of ${kind} open`, () => {
    let deployed: Deployment<Server>;
    let sockets: Socket[] = [];
    before(async () => {
      deployed = await startProcesses(kind, { filesMax, env: { TRUSTED_PROXIES: "127.0.0.1" } });
    });
    after(() => deployed.close());

    /** Opens connections that send `text` and then do nothing. */
    const openMany = async ({ port }: Server, count: number, text: Text) => {
      for (let from = 0; from < count; from += 100) {
        const some = Array.from({ length: Math.min(100, count - from) }, (_, at) => {
          const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
          socket.on("error", () => {});
          socket.resume();
          socket.write(typeof text === "string" ? text : text(from + at));
          return socket;
        });
        await Promise.all(some.map((each) => once(each, "connect").catch(() => {})));
        sockets.push(...some);
      }
    };
    const openAtEach = (count: number, text: string) =>
      Promise.all(deployed.servers.map((server) => openMany(server, count, text)));
    const closeAll = () => {
      for (const socket of sockets) socket.destroy();
      sockets = [];
    };
    /**
     * Runs another server during `attack`. On PostgreSQL, the server shares the deployment's
     * database.
     */
    const withAnother = async (options: ServerOptions, attack: (server: Server) => unknown) => {
      const env = { ...options.env, DATABASE_URL: deployed.postgres?.url };
      const server = await startServer({ ...options, env });
      try {
        await attack(server);
      } finally {
        closeAll();
        await server.close();
      }
    };

    const attacks: [string, string][] = [
      ["send nothing", ""],
      ["send half a request head", "GET /v1/chains HTTP/1.1\r\nHost: x\r\nX-Slow: "],
      ["stay connected after a 400 response", "hello\r\n\r\n"],
      [
        "stay connected after a 431 response",
        `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(17_000)}\r\n\r\n`,
      ],
      ["stay connected after a response", "GET /v1/chains HTTP/1.1\r\nHost: x\r\n\r\n"],
    ];
    for (const [title, text] of attacks) {
      test(`other requests succeed while ${halves} clients ${title}`, async () => {
        await openAtEach(halves, text);
        for (let round = 0; round < 5; round++) await assertGood(deployed.servers);
        if (process.platform === "linux") {
          for (const server of deployed.servers) assert.ok(filesOpen(server) < filesMax);
        }
        closeAll();
        await assertGood(deployed.servers);
      });
    }

    test(`other requests succeed while clients request ${halves} event streams`, async () => {
      for (const server of deployed.servers) {
        const path = `/v1/address/${await create(server)}/events`;
        await openMany(server, halves, (number) => {
          const client = `X-Forwarded-For: 192.0.2.${number % 250}\r\n`;
          return `GET ${path} HTTP/1.1\r\nHost: x\r\n${client}\r\n`;
        });
      }
      const isPending = (socket: Socket) => !socket.closed && socket.bytesRead === 0;
      while (sockets.some(isPending)) await sleep(50);
      for (let round = 0; round < 5; round++) await assertGood(deployed.servers);
      closeAll();
      await assertGood(deployed.servers);
    });

    test("users can sign in while 40 clients send incomplete sign-in requests", async () => {
      const about = `Origin: ${page}\r\nContent-Type: application/json\r\n`;
      const head = `POST /auth/sign-in/email HTTP/1.1\r\nHost: x\r\n${about}`;
      await openAtEach(40, `${head}Content-Length: 100\r\n\r\n{`);
      for (let round = 0; round < 5; round++) {
        for (const server of deployed.servers) assert.equal(await signIn(server), 401);
      }
      closeAll();
    });

    test("the server closes a connection within 10 s after a 400 response", async () => {
      await openAtEach(200, "hello\r\n\r\n");
      const deadline = Date.now() + 10_000;
      const ended = Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
      for (const socket of sockets) socket.on("end", () => {});
      const isFree = () =>
        process.platform !== "linux" || deployed.servers.every((each) => filesOpen(each) < 150);
      while (!isFree() && Date.now() < deadline) await sleep(100);
      assert.ok(isFree(), `${deployed.servers.map(filesOpen)} files are still open`);
      closeAll();
      await ended;
    });

    test("create requests succeed while 80 clients send incomplete requests", async () => {
      await withAnother({ env: { CREATES_IN_FLIGHT_MAX: "60" } }, async (server) => {
        const credential = `Authorization: Bearer ${server.apiKey}\r\n`;
        const head = `POST /v1/address/create HTTP/1.1\r\nHost: x\r\n${credential}`;
        const about = "Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{";
        await openMany(server, 80, head + about);
        await sleep(1_500);
        for (let round = 0; round < 5; round++) await assertGood([server]);
      });
    });

    test("control: silent clients block other requests if connections are unlimited", async () => {
      const unbounded = { filesMax, env: { CONNECTIONS_MAX: "1000000" } };
      await withAnother(unbounded, async (server) => {
        await openMany(server, 1_500, "GET /v1/chains HTTP/1.1\r\nHost: x\r\nX-Slow: ");
        await assert.rejects(
          assertGood([server], 1_000),
          /^(TypeError: fetch failed|TimeoutError)/,
        );
      });
    });
  });
}

/** The dashboard's origin on these servers. */
const page = "http://127.0.0.1:0";

/** @returns the status, over a new connection */
async function signIn({ base }: Server): Promise<number | undefined> {
  const asked = request(`${base}/auth/sign-in/email`, {
    method: "POST",
    headers: { origin: page, "content-type": "application/json" },
    agent: false,
  });
  asked.end(JSON.stringify({ email: "nobody@example.com", password: "not the password" }));
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer.resume().statusCode;
}

/**
 * Opens a new connection for each honest request. The server may close any idle connection, even
 * the connection of an honest client. `fetch` does not retry a POST request if the server closes a
 * reused connection.
 */
const fresh = { connection: "close" };

/** @returns the address */
async function create({ base, apiKey }: Server, signal?: AbortSignal): Promise<string> {
  const headers = {
    ...fresh,
    authorization: `Bearer ${apiKey}`,
    "content-type": "application/json",
  };
  const body = JSON.stringify(newIntent());
  const url = `${base}/v1/address/create`;
  const made = await fetch(url, { method: "POST", headers, body, signal: signal ?? null });
  assert.equal(made.status, 200);
  return ((await made.json()) as { address: string }).address;
}

/** Creates an address on each server and fetches it again. */
async function assertGood(servers: Server[], timeoutMs = 5_000): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  for (const server of servers) {
    const url = `${server.base}/v1/address/${await create(server, signal)}`;
    assert.equal((await fetch(url, { headers: fresh, signal })).status, 200);
  }
}

const filesOpen = ({ process: { pid } }: Server) => readdirSync(`/proc/${pid}/fd`).length;
