// Measures the delay that one hanging endpoint causes for 999 other endpoints. Run the benchmark
// with bench/webhooks.ts 1000 3, for 1,000 endpoints and three rounds. Each round is measured with
// and without the endpoint that never responds. Prints the events per second for both cases, and
// the ratio of the median times.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { openStore } from "../roles/open-store.ts";
import { median } from "../testing/median.ts";
import { addHook, happen, newAccount, startReceiver } from "../testing/webhooks/world.ts";
import { startDelivery } from "../webhooks/deliver.ts";
import { sender } from "../webhooks/send.ts";

const endpoints = Number(process.argv[2] ?? 1000);
const rounds = Number(process.argv[3] ?? 3);
const eventsEach = 3;

/** Measures how long it takes until all working endpoints have received the events, in seconds. */
async function measure(hasDead: boolean): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "bench-"));
  const store = await openStore({ dataDirectory: directory });
  const receiver = await startReceiver(({ path }) =>
    path === "/dead" ? "never" : { status: 204 },
  );
  const accounts: string[] = [];
  for (let i = 0; i < endpoints; i++) {
    const account = await newAccount(store);
    await addHook(store, account, `${receiver.url}/${hasDead && i === 0 ? "dead" : i}`);
    accounts.push(account);
  }
  const parts = { store, pollMs: 10, random: Math.random };
  const log = pino({ level: "silent" });
  const delivery = startDelivery({ ...parts, log, now: Date.now, send: sender("any") });
  const alive = () => receiver.taken.filter(({ path }) => path !== "/dead").length;
  const wanted = () => (endpoints - (hasDead ? 1 : 0)) * eventsEach;
  const began = performance.now();
  for (let i = 0; i < eventsEach; i++) {
    for (const account of accounts) await happen(store, account);
  }
  while (alive() < wanted()) await sleep(5);
  const seconds = (performance.now() - began) / 1000;
  await Promise.all([delivery.stop(), receiver.close()]);
  await store.close();
  rmSync(directory, { recursive: true });
  return seconds;
}

const [alive, dead]: [number[], number[]] = [[], []];
for (let round = 0; round < rounds; round++) {
  alive.push(await measure(false));
  dead.push(await measure(true));
}
const perSecond = (seconds: number) => Math.round((endpoints * eventsEach) / seconds);
process.stdout.write(
  `all alive ${perSecond(median(alive))}/s, one dead ${perSecond(median(dead))}/s: ` +
    `${(median(dead) / median(alive)).toFixed(2)} times as long\n`,
);
