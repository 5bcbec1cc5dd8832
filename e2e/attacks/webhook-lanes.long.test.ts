// Tests over HTTP that faulty webhook endpoints do not delay honest endpoints in the same database.
// The 1,000 faulty endpoints belong to 100 accounts and have a backlog. These endpoints hang,
// respond only sometimes, respond byte by byte, or fail. For comparison, a second database has only
// honest endpoints. Both databases are measured at the same time, so that a busy machine slows both
// equally.

import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isLong } from "../../scripts/long.ts";
import { openEmptyStore } from "../../service/testing/empty-store.ts";
import { quantile } from "../../service/testing/median.ts";
import { addHook, happen, newAccount, pileUp } from "../../service/testing/webhooks/world.ts";

/** Takes four minutes and measures times, so other tests must not run at the same time. */
const skip = isLong ? false : "npm run test:long";
const strangers = { accounts: 100, endpoints: 10, events: 40 };
const warmSeconds = 10;
const seconds = 60;
const kinds = ["hang", "earn", "flip", "drip", "fail"];

const children: ChildProcess[] = [];
const endChildren = () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
};
after(endChildren);

async function startEndpoints() {
  const child = fork(join(import.meta.dirname, "strangers-endpoints.ts"));
  children.push(child);
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  return url;
}

/**
 * Opens a database for honest endpoints. `deliver` starts a process that delivers the events in
 * this database.
 */
async function startShop(dialect: "sqlite" | "postgres", honestUrl: string) {
  const { store, place, stop } = await openEmptyStore(dialect);
  return {
    ...{ store, honestUrl, stop },
    deliver() {
      const program = join(import.meta.dirname, "../../service/testing/webhooks/deliverer.ts");
      children.push(fork(program, [place, "0", "5000", "250"]));
    },
  };
}
type Shop = Awaited<ReturnType<typeof startShop>>;

/** Maps the ID of each event to its endpoint's path and the time of the event. */
type Happened = Map<string, { path: string; atMs: number }>;

async function honestEvents(shop: Shop, name: string, untilMs: number): Promise<Happened> {
  const happened: Happened = new Map();
  const { store, honestUrl } = shop;
  const tell = async (path: string, account: string) => {
    const atMs = Date.now();
    happened.set(await happen(store, account), { path, atMs });
  };
  const every = async (ms: number, run: (nth: number) => Promise<void>) => {
    for (let nth = 0; Date.now() < untilMs; nth++) {
      await run(nth);
      await sleep(ms);
    }
  };
  const accountOf = async (path: string) => {
    const account = await newAccount(store);
    await addHook(store, account, `${honestUrl}${path}`);
    return account;
  };
  const [good, slow] = [await accountOf(`/good/${name}`), await accountOf(`/slow/${name}`)];
  await Promise.all([
    every(300, () => tell(`/good/${name}`, good)),
    every(2_000, () => tell(`/slow/${name}`, slow)),
    every(3_000, async (nth) => {
      const path = `/new/${name}/${nth}`;
      await tell(path, await accountOf(path));
    }),
  ]);
  return happened;
}

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`faulty webhook endpoints of other accounts, on ${dialect}`, { skip }, () => {
    let alone: Shop;
    let beside: Shop;
    let honestUrl: string;
    let strangersUrl: string;
    before(async () => {
      honestUrl = await startEndpoints();
      strangersUrl = await startEndpoints();
      alone = await startShop(dialect, honestUrl);
      beside = await startShop(dialect, honestUrl);
      await pileUp(
        beside.store,
        strangers,
        (a, e) => `${strangersUrl}/${kinds[e % kinds.length]}/${a}/${e}`,
      );
    });
    after(async () => {
      endChildren();
      await alone.stop();
      await beside.stop();
    });

    test("cause at most twice the usual p99 delay at honest endpoints", async (t) => {
      for (const shop of [alone, beside]) shop.deliver();
      const warmMs = Date.now() + warmSeconds * 1_000;
      const untilMs = warmMs + seconds * 1_000;
      const happened = {
        alone: honestEvents(alone, "alone", untilMs),
        beside: honestEvents(beside, "beside", untilMs),
      };
      await Promise.all(Object.values(happened));
      await sleep(5_000);
      // Maps the ID of each event to the time of its first arrival.
      const came = new Map((await readArrivals(honestUrl)).toReversed());
      const strange = await readArrivals(strangersUrl);
      const waits = async (shop: "alone" | "beside", path: string) =>
        [...(await happened[shop])]
          .filter(([, event]) => event.atMs > warmMs && event.path.startsWith(`/${path}/${shop}`))
          .map(([id, { atMs }]) => (came.get(id) ?? Infinity) - atMs)
          .toSorted((a, b) => a - b);
      const p99 = (of: number[]) => quantile(of, 0.99);
      const found = {
        alone: await waits("alone", "good"),
        beside: await waits("beside", "good"),
        slow: await waits("beside", "slow"),
        fresh: await waits("beside", "new"),
      };
      for (const [name, of] of Object.entries(found))
        t.diagnostic(`${name}: ${of.length}, median ${of[of.length >> 1]}, p99 ${p99(of)} ms`);
      t.diagnostic(`${strange.length} requests to strangers`);
      assert.ok(strange.length > 2_000);
      assert.ok(found.beside.length > seconds && found.slow.length > 5 && found.fresh.length > 5);
      assert.ok(p99(found.beside) <= 2 * p99(found.alone));
      assert.ok(p99(found.slow) <= 3_000 && p99(found.fresh) <= 3_000);
    });
  });
}

/** Returns the events that arrived at the server `url`, in the order of arrival. */
async function readArrivals(url: string): Promise<[eventId: string, atMs: number][]> {
  const answer = await fetch(`${url}/arrivals`);
  const arrivals = (await answer.json()) as { eventId: string; atMs: number }[];
  return arrivals.map(({ eventId, atMs }) => [eventId, atMs]);
}
