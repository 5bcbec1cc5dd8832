// Tests WORKERS=2: two worker processes on one port and the executor's process, with a real
// PostgreSQL.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "executable-address-contracts/anvil";
import { type Server, startServer } from "../../../e2e/attacks/server.ts";
import { admin } from "../../../e2e/service.ts";
import { onlyLong } from "../../../scripts/long.ts";
import { newIntent } from "../../testing/app.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

type Line = { msg: string; role: string; worker?: number; pid?: number; restartMs?: number };
const linesOf = ({ lines }: Server): Line[] => lines.map((line) => JSON.parse(line));
const logged = (server: Server, msg: string) => linesOf(server).filter((line) => line.msg === msg);

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(5);
}

/**
 * Starts the service. Waits until both workers listen and the executor, if there is one, has
 * started.
 */
async function start(env: NodeJS.ProcessEnv = {}, workers = 2): Promise<Server> {
  const DATABASE_URL = await postgres.newDatabase();
  const server = await startServer({ env: { DATABASE_URL, WORKERS: "2", ...env } });
  await until(() => logged(server, "worker started").length === workers);
  await until(() => logged(server, "listening").length === 2);
  return server;
}

/**
 * Sends a request on a new connection. In the result, `by` identifies the process that responded.
 */
async function ask(server: Server, path: string, post?: { apiKey: string; body: string }) {
  const headers = { connection: "close", "content-type": "application/json" };
  const asked = request({
    host: "127.0.0.1",
    port: server.port,
    path,
    agent: false,
    ...(post && { method: "POST" }),
    headers: post ? { ...headers, authorization: `Bearer ${post.apiKey}` } : headers,
  }).end(post?.body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of answer) text += chunk;
  const by = String(answer.headers["x-request-id"]).split("-")[0]!;
  return { status: answer.statusCode!, by, json: () => JSON.parse(text) };
}

/** Sends requests until `count` different processes have responded. Returns all responses. */
async function askAll(count: number, asking: () => ReturnType<typeof ask>) {
  const answers = [];
  while (new Set(answers.map(({ by }) => by)).size < count) answers.push(await asking());
  return answers;
}

const create = (server: Server, apiKey = server.apiKey) =>
  ask(server, "/v1/address/create", { apiKey, body: JSON.stringify(newIntent()) });

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const pidsOf = (server: Server) => logged(server, "worker started").map(({ pid }) => pid!);

describe("a service with two workers and an executor", () => {
  const EXECUTOR_KEY = `0x${"1".repeat(64)}`;
  let server: Server;
  let metricsPort: number;
  before(async () => {
    metricsPort = await freePort();
    server = await start({ ROLE: "all", EXECUTOR_KEY, METRICS_PORT: String(metricsPort) }, 3);
  });
  after(() => server.close());

  test("finds a new record and rejects a rotated key in every worker", async () => {
    const { accountId, apiKey } = await admin(
      server.env,
      "account",
      "create",
      "--email",
      "two@example.com",
    );
    for (const created of await askAll(2, () => create(server, String(apiKey)))) {
      assert.equal(created.status, 200);
      const path = `/v1/address/${created.json().address}`;
      for (const { status } of await askAll(2, () => ask(server, path))) assert.equal(status, 200);
    }
    await admin(server.env, "key", "rotate", "--account", String(accountId));
    const answers = await askAll(2, () => create(server, String(apiKey)));
    for (const { status } of answers) assert.equal(status, 401);
  });

  test("shares a credential's rate limit among all workers", async () => {
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 160 }, () => create(server)));
    const allowed = 100 + (performance.now() - began) / 20 + 1;
    const admitted = answers.filter(({ status }) => status === 200);
    assert.equal(new Set(admitted.map(({ by }) => by)).size, 2);
    assert.ok(admitted.length <= allowed, `${admitted.length} of ${allowed}`);
    // On a slow machine, the rate limit may allow all requests.
    if (allowed < 150) assert.ok(answers.some(({ status }) => status === 429));
  });

  test("returns the metrics of all processes on METRICS_PORT", async () => {
    const answers = await askAll(2, () => ask(server, "/v1/openapi.json"));
    const count = () => fetch(`http://127.0.0.1:${metricsPort}`).then((found) => found.text());
    const counted = 'http_responses_total{route="/v1/openapi.json",status="200"}';
    const wanted = `${counted} ${answers.length}\n`;
    while (!(await count()).includes(wanted)) await sleep(20);
    while (!/^executor_leads\{chain="1"\} [01]$/m.test(await count())) await sleep(20);
    assert.match(await count(), /^nodejs_eventloop_lag_p99_seconds /m);
  });

  test("gives the executor's key only to the executor's process", () => {
    const roles = new Map<string, Set<number>>();
    for (const { role, worker } of linesOf(server)) {
      if (worker !== undefined && role !== "all") {
        roles.set(role, (roles.get(role) ?? new Set()).add(worker));
      }
    }
    assert.deepEqual(roles.get("api"), new Set([1, 2]));
    if (process.platform !== "linux") return;
    const environments = pidsOf(server).map((pid) => readFileSync(`/proc/${pid}/environ`, "utf8"));
    const have = environments.filter((each) => each.includes(`EXECUTOR_KEY=${EXECUTOR_KEY}`));
    assert.equal(have.length, 1);
    assert.ok(have[0]!.includes("ROLE=executor"));
  });

  test("restarts a killed worker while the other workers respond", async () => {
    const listened = () => logged(server, "listening").length;
    const ended = () => logged(server, "worker exited; it will be restarted");
    const [, second, executor] = pidsOf(server);
    process.kill(executor!, "SIGKILL");
    await until(() => pidsOf(server).length === 4);
    let pid = second!;
    for (const deaths of [1, 2]) {
      process.kill(pid, "SIGKILL");
      await until(() => ended().length === 1 + deaths);
      assert.equal(ended().at(-1)!.restartMs, 100 * 2 ** (deaths - 1));
      assert.equal((await ask(server, "/v1/chains")).status, 200);
      await until(() => listened() === 2 + deaths);
      await askAll(2, () => ask(server, "/v1/chains"));
      pid = pidsOf(server).at(-1)!;
    }
  });

  test("completes requests after SIGTERM and exits with 0", async () => {
    const body = JSON.stringify(newIntent());
    const head = `Host: x\r\nAuthorization: Bearer ${server.apiKey}\r\nExpect: 100-continue\r\n`;
    const about = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const sockets = [];
    // The workers get connections in turn, so each worker gets two requests.
    for (let i = 0; i < 4; i++) {
      const socket = connect(server.port, "127.0.0.1").setEncoding("utf8");
      socket.write(`POST /v1/address/create HTTP/1.1\r\n${head}${about}`);
      assert.match(String(await once(socket, "data")), /^HTTP\/1.1 100/);
      sockets.push(socket);
    }
    const ended = once(server.process, "close");
    server.process.kill("SIGTERM");
    await until(() => logged(server, "draining").length === 4);
    for (const socket of sockets) {
      socket.write(body);
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      assert.match(answer, /^HTTP\/1.1 200/);
    }
    assert.deepEqual(await ended, [0, null]);
    assert.equal(logged(server, "stopped").length, 4);
    const last = linesOf(server).at(-1)!;
    assert.deepEqual([last.msg, last.worker], ["stopped", undefined]);
    assert.deepEqual(pidsOf(server).filter(isAlive), []);
  });
});

describe("a worker that does not exit during a shutdown", () => {
  /**
   * Starts the service, suspends one worker with SIGSTOP, and sends SIGTERM to the service. Only
   * SIGKILL can end a suspended process.
   */
  const startWithHung = async () => {
    const server = await start({ DRAIN_SECONDS: "0" });
    const [hung, other] = pidsOf(server);
    process.kill(hung!, "SIGSTOP");
    const ended = once(server.process, "close");
    server.process.kill("SIGTERM");
    await until(() => !isAlive(other!));
    assert.ok(isAlive(hung!));
    return { server, hung: hung!, ended };
  };

  test("is killed ten seconds after the drain time", onlyLong, async () => {
    const { server, hung, ended } = await startWithHung();
    assert.deepEqual(await ended, [1, null]);
    assert.equal(isAlive(hung), false);
    const [killed] = logged(server, "worker did not stop in time and was killed");
    assert.deepEqual([killed?.worker, killed?.pid], [1, hung]);
    assert.equal(logged(server, "stopped").length, 2);
    assert.equal(linesOf(server).at(-1)!.msg, "stopped");
    await server.close();
  });

  test("is killed immediately at a second signal, and the exit code is 1", async () => {
    const { server, hung, ended } = await startWithHung();
    await sleep(1_000);
    server.process.kill("SIGTERM");
    assert.deepEqual(await ended, [1, null]);
    await until(() => !isAlive(hung));
    assert.equal(logged(server, "stopped").length, 1);
    await server.close();
  });
});

test("a start fails if the port is in use, and workers exit if the service is killed", async () => {
  const server = await start();
  const env = { ...server.env, PORT: String(server.port) };
  const second = execFile(process.execPath, [`${import.meta.dirname}/../../main.ts`], { env });
  let stderr = "";
  second.stderr!.on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(second, "close");
  assert.equal(code, 1);
  const remedy = "stop the other program, or change PORT";
  assert.equal(stderr, `PORT ${server.port} is already in use: ${remedy}\n`);
  server.process.kill("SIGKILL");
  await until(() => pidsOf(server).every((pid) => !isAlive(pid)));
  await server.close();
});
