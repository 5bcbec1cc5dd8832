// Three times as many creates as the server can do, from clients that do not wait: those it takes
// on are answered soon, it does most of what it can, look-ups go on, and it is itself again after.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createAccount } from "../../service/accounts/account.ts";
import { rotateApiKey } from "../../service/accounts/rotate.ts";
import { newIntent, token } from "../../service/http/app-for-tests.ts";
import { openStore } from "../../service/store/open.ts";
import { startPostgres } from "../../service/store/postgres-for-tests.ts";
import { at, type Outcome, openLoad } from "./open-loop-for-tests.ts";
import { type Server, startServer } from "./server-for-tests.ts";

const isLong = process.env.ATTACKS === "long";
const phaseMs = isLong ? 10_000 : 1_500;
/** So many that nobody reaches the limit of an account: 50 creates a second. */
const accountsCount = 600;

async function newKeys(env: NodeJS.ProcessEnv): Promise<string[]> {
  const { DATA_DIR: dataDirectory, DATABASE_URL: databaseUrl } = env;
  const store = await openStore({ dataDirectory: dataDirectory!, databaseUrl }, false);
  const keys: string[] = [];
  for (let i = 0; i < accountsCount; i++) {
    const by = { atMs: Date.now() };
    const account = await createAccount(store.db, `load${i}@example.com`, by);
    keys.push((await rotateApiKey(store.db, account!.accountId, null, by))!.apiKey);
  }
  await store.close();
  return keys;
}

/** Of some kilobytes: the service is at its limit before the load is. */
function largeIntent() {
  const args = [`0x${"ab".repeat(300)}`];
  const call = { target: token as string, function: "note(bytes text)", args };
  return { ...newIntent(), calls: Array.from({ length: 8 }, () => call) };
}

const memoryBytes = ({ process: { pid } }: Server) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;

/** How long the thread that answers was ready to run so far, and other work had the processors. */
const heldUpMs = ({ process: { pid } }: Server) =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;

const statusOf = (outcome: Outcome, name: string, status: number) =>
  outcome[name]!.byStatus[status] ?? [];

for (const kind of ["SQLite", "PostgreSQL"] as const) {
  describe(`overload, on ${kind}`, { skip: process.platform !== "linux" }, () => {
    let load: ReturnType<typeof openLoad>;
    let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;
    let server: Server;
    let keys: string[];
    let address = "";
    let salt = 1;
    before(async () => {
      load = openLoad();
      postgres = kind === "PostgreSQL" ? await startPostgres() : undefined;
      server = await startServer({ env: postgres ? { DATABASE_URL: postgres.url } : {} });
      keys = await newKeys(server.env);
      const headers = {
        authorization: `Bearer ${keys[0]}`,
        "content-type": "application/json",
      };
      const body = JSON.stringify(newIntent());
      const url = `${server.base}/v1/address/create`;
      const record = await fetch(url, { method: "POST", headers, body });
      address = ((await record.json()) as { address: string }).address;
    });
    after(async () => {
      load?.close();
      await server?.stop();
      await postgres?.stop();
    });

    const creates = (perSecond: number) => {
      const body = JSON.stringify({ ...largeIntent(), salt: `0x${"0".repeat(64)}` });
      const firstSalt = salt;
      salt += 10_000_000;
      const requests = keys.map((key) => {
        const head = `POST /v1/address/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}`;
        const about = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
        const text = `${head}\r\n${about}\r\n\r\n${body}`;
        return { text, saltAt: text.indexOf('"salt":"0x') + '"salt":"0x'.length };
      });
      return { requests, perSecond, firstSalt };
    };
    const lookups = (perSecond: number) => ({
      requests: [{ text: `GET /v1/address/${address} HTTP/1.1\r\nHost: x\r\n\r\n` }],
      perSecond,
      firstSalt: 0,
    });
    const offer = async (perSecond: number, ms = phaseMs) => {
      const streams = { create: creates(perSecond), lookup: lookups(100) };
      const [heldUpBefore, startedAt] = [heldUpMs(server), performance.now()];
      const outcome = await load.run({ port: server.port, ms, streams });
      const heldUp = heldUpMs(server) - heldUpBefore;
      const created = statusOf(outcome, "create", 200);
      return {
        outcome,
        created,
        refused: statusOf(outcome, "create", 503),
        found: statusOf(outcome, "lookup", 200),
        perSecond: (created.length * 1000) / ms,
        /** What other work left of a processor for the server. */
        freePart: 1 - heldUp / (performance.now() - startedAt),
      };
    };

    test("three times capacity: what is taken on is soon, look-ups go on, it ends", async (t) => {
      await offer(100, 1_000);
      const quiet = (await offer(100)).created;
      let peak = 0;
      for (let pace = isLong ? 400 : 3_200; pace < 20_000; pace *= 2) {
        const { perSecond } = await offer(pace, 1_000);
        peak = Math.max(peak, perSecond);
        if (perSecond < 0.7 * pace) break;
      }
      const memory = memoryBytes(server);
      const full = await offer(peak);
      peak = Math.max(peak, full.perSecond);
      const freePeak = full.perSecond / full.freePart;
      await offer(3 * peak, 1_000);
      const over = await offer(3 * peak);
      const { created: admitted, found } = over;
      const { freePart } = over;
      const share = over.perSecond / freePart / freePeak;
      const figures = {
        ...{ peak, share, quiet: [at(quiet, 0.5), at(quiet, 0.99)] },
        admitted: [at(admitted, 0.5), at(admitted, 0.99)],
        lookup: [at(found, 0.5), at(found, 0.99)],
        ...{ freePart, lateLoad: at(over.outcome.create!.lateMs, 0.99) },
      };
      const message = JSON.stringify(figures);
      if (isLong) console.log(message);
      assert.ok(over.refused.length > 0, message);
      assert.deepEqual(Object.keys(over.outcome.create!.byStatus).sort(), ["200", "503"]);
      assert.ok(admitted.length > 0 && found.length > 0, message);
      const isJudged = isLong && freePart >= 0.5;
      if (isLong && !isJudged) t.diagnostic("not judged: other work had the processors");
      if (isJudged) {
        // Medians: of a machine that has other work the last hundredth tells only that. The exact
        // bounds are held on a clock of its own, in service/http/load/follow-latency.test.ts. A
        // refusal costs an eighth of such a create's processor time, so 0.7 is what can be. Where
        // the server had half of a processor, twice as long is as soon.
        assert.ok(share >= 0.5, message);
        assert.ok(at(admitted, 0.5) * freePart <= 5 * Math.max(at(quiet, 0.5), 10), message);
        assert.ok(at(found, 0.5) * freePart <= 50, message);
      }
      await sleep(500);
      const again = (await offer(100, 1_000)).refused;
      assert.equal(again.length, 0, "and is itself again");
      if (!isLong) return;
      // Its clients hang up: thousands of open connections have their memory.
      load.close();
      const until = Date.now() + 60_000;
      while (memoryBytes(server) > 1.2 * memory && Date.now() < until) await sleep(1_000);
      assert.ok(memoryBytes(server) <= 1.2 * memory);
    });
  });
}
