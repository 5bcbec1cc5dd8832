// Runs two executors that observe the chain and deliver events. Kills one or both repeatedly, and
// sometimes stops their PostgreSQL. Every event must be delivered, and an address's events must
// arrive in order. Repeated deliveries must have the same webhook-id. TESTS=long runs 200 rounds.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type ServiceEvent } from "executable-address/client";
import { executorKey } from "../../scripts/local-chain.ts";
import { isLong } from "../../scripts/long.ts";
import { startPostgres, type TestPostgres } from "../../service/testing/postgres.ts";
import { startReceiver } from "../../service/testing/webhooks/world.ts";
import { createOrder, mint } from "../browser/pay-page.ts";
import { admin, type Running, startService } from "../service.ts";

const rounds = isLong ? 200 : 3;
const urlOf = (file: string) => JSON.stringify(new URL(`../../service/${file}`, import.meta.url));
/**
 * Starts an executor with a lease of 1 s, so that a standby soon replaces a killed leader. The
 * settings allow only longer leases.
 */
const program = `
  import { readConfig } from ${urlOf("config.ts")};
  import { openLog } from ${urlOf("log.ts")};
  import { startRoles } from ${urlOf("roles/start.ts")};
  const config = { ...readConfig(process.env), executorLeaseSeconds: 1 };
  await startRoles(config, openLog({ level: config.logLevel, role: config.role }));
`;
const price = 25_000_000n;

let postgres: TestPostgres;
let service: Running;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
const executors: ChildProcess[] = [];

before(async () => {
  postgres = await startPostgres();
  receiver = await startReceiver();
  const purse = { EXECUTOR_GAS_PER_DAY_MAX: String(10n ** 20n) };
  service = await startService({
    ...{ DATABASE_URL: postgres.url, WEBHOOK_TARGETS: "any", EXECUTOR_KEY: executorKey },
    ...{ ...purse, EXECUTOR_GAS_PER_ACCOUNT_MAX: String(10n ** 20n), EXECUTOR_POLL_MS: "100" },
  });
  const { accountId } = await admin(service.env, "account", "show", "--email", "shop@example.com");
  const to = ["--account", String(accountId), "--url", receiver.url];
  await admin(service.env, "webhook", "add", ...to);
});
after(async () => {
  await Promise.all(executors.map(kill));
  await service?.stop();
  await receiver?.close();
  await postgres?.stop();
});

function startExecutor(): ChildProcess {
  const env = { ...service.env, ROLE: "executor", LOG_LEVEL: "silent" };
  const args = ["--input-type=module", "--eval", program];
  const child = spawn(process.execPath, args, { env, stdio: "ignore" });
  executors.push(child);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

const taken = () => receiver.taken.map(({ body }) => JSON.parse(body) as ServiceEvent);

/** Returns all events of the account, oldest first. */
async function readEvents(): Promise<ServiceEvent[]> {
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const found: ServiceEvent[] = [];
  for (let cursor = "0"; ; ) {
    const { items, next, hasMore } = await client.events({ cursor, limit: 100 });
    found.push(...items);
    if (!hasMore) return found;
    cursor = next;
  }
}

describe("webhooks while executors are killed", () => {
  test(`every event is delivered in order after ${rounds} kills`, async (t) => {
    const paid: string[] = [];
    let [first, second] = [startExecutor(), startExecutor()];
    for (let round = 1; round <= rounds; round++) {
      const { address } = await createOrder(service);
      await mint(service, address, round % 3 === 0 ? price + 5n : price);
      paid.push(address);
      await sleep(randomInt(1_500));
      await kill(first);
      if (round % 4 === 0) await kill(second);
      if (round % 40 === 0) {
        await postgres.restart();
        while (!(await fetch(new URL("/readyz", service.baseUrl))).ok) await sleep(50);
      }
      [first, second] = [second, startExecutor()];
      if (first.signalCode !== null) first = startExecutor();
    }
    for (;;) {
      const events = await readEvents();
      const arrived = new Set(taken().map(({ id }) => id));
      const executed = new Set(
        events.filter(({ type }) => type === "address.executed").map(({ data }) => data.address),
      );
      if (paid.every((address) => executed.has(address as never))) {
        if (events.every(({ id }) => arrived.has(id))) break;
      }
      await sleep(500);
    }
    const bodies = new Map<string, string>();
    for (const { body, headers } of receiver.taken) {
      const id = String(headers["webhook-id"]);
      assert.equal(bodies.get(id) ?? body, body, "the same event each time");
      bodies.set(id, body);
    }
    const known = new Set((await readEvents()).map(({ id }) => id));
    for (const id of bodies.keys()) assert.ok(known.has(id), `${id} is among the account's events`);
    for (const address of paid) {
      const mine = taken().filter(({ data }) => data.address === address);
      const sequences = mine.map(({ data }) => data.sequence);
      // A repeated event may directly follow the original event. All other events must be in order.
      assert.ok(sequences.every((each, index) => index === 0 || each >= sequences[index - 1]!));
      const all = [...new Set(sequences)];
      assert.deepEqual(
        all,
        Array.from(all, (_, index) => index + 1),
        "none is missing",
      );
      const ran = new Set(mine.filter(({ type }) => type === "address.executed").map((e) => e.id));
      assert.equal(ran.size, 1, "executed once");
    }
    t.diagnostic(`${bodies.size} events, ${receiver.taken.length} deliveries`);
  });
});
