import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startPostgres } from "../testing/postgres.ts";
import { type Limiter, memoryLimiter, postgresLimiter, withLocalFallback } from "./limits.ts";
import { type Policy, policies } from "./policies.ts";

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let store: Store;
let other: Store;

before(async () => {
  postgres = await startPostgres();
  store = await openStore({ databaseUrl: postgres.url, dataDirectory: "" });
  other = await openStore({ databaseUrl: postgres.url, dataDirectory: "" });
});
after(async () => {
  await store?.close();
  await other?.close();
  await postgres?.stop();
});

/**
 * The number of limiter keys that the tests have used. Each run uses a new key, because earlier
 * keys may have used up their limits.
 */
let keys = 0;
const newKey = () => `key-${keys++}`;

const away: Limiter = { take: () => Promise.reject(new Error("away")) };

type Implementation = { name: string; runs: number; open: (nowMs: () => number) => Limiter };
const implementations: Implementation[] = [
  { name: "in memory", runs: 500, open: memoryLimiter },
  {
    name: "in PostgreSQL",
    runs: 12,
    open: (nowMs) => postgresLimiter(store, () => Math.round(nowMs() * 1000)),
  },
  {
    name: "that falls back to memory",
    runs: 500,
    open: (nowMs) => withLocalFallback(away, () => {}, memoryLimiter(nowMs)),
  },
];

/**
 * Generates the times of requests. Each group of `count` requests is sent `waitMs` after the
 * previous group.
 */
const schedules = (policy: Policy) =>
  fc.array(
    fc.record({
      waitMs: fc.integer({ min: 0, max: policy.intervalMs * 4 }),
      count: fc.integer({ min: 1, max: Math.ceil(policy.burst / 2) }),
    }),
    { minLength: 1, maxLength: 40 },
  );

for (const { name, runs, open } of implementations) {
  for (const policy of Object.values(policies)) {
    const perSecond = 1000 / policy.intervalMs;
    describe(`a rate limiter ${name}: ${perSecond} per second, burst ${policy.burst}`, () => {
      const options = { numRuns: runs, seed: 11 };

      test("refuses the first request above the burst, and returns the required wait", async () => {
        let now = 5_000_000;
        const limiter = open(() => now);
        const key = newKey();
        for (let spent = 1; spent <= policy.burst; spent++) {
          const verdict = await limiter.take(key, policy);
          assert.deepEqual([verdict.admitted, verdict.retryMs], [true, 0]);
          assert.equal(verdict.remaining, policy.burst - spent);
          assert.equal(verdict.resetMs, spent * policy.intervalMs);
        }
        const refused = await limiter.take(key, policy);
        assert.deepEqual([refused.admitted, refused.remaining], [false, 0]);
        assert.equal(refused.retryMs, policy.intervalMs);
        now += refused.retryMs - 1;
        assert.equal((await limiter.take(key, policy)).admitted, false);
        now += 1;
        assert.equal((await limiter.take(key, policy)).admitted, true);
      });

      test("admits at most burst + rate · t + 1 requests in any t seconds", async () => {
        const property = fc.asyncProperty(schedules(policy), async (schedule) => {
          let now = 1_000_000;
          const limiter = open(() => now);
          const key = newKey();
          const admittedAt: number[] = [];
          for (const { waitMs, count } of schedule) {
            now += waitMs;
            const asked = Array.from({ length: count }, () => limiter.take(key, policy));
            for (const { admitted } of await Promise.all(asked)) {
              if (admitted) admittedAt.push(now);
            }
          }
          admittedAt.forEach((from, first) => {
            for (let last = first; last < admittedAt.length; last++) {
              const windowMs = admittedAt[last]! - from;
              const most = policy.burst + windowMs / policy.intervalMs + 1;
              assert.ok(last - first + 1 <= most, `${last - first + 1} in ${windowMs} ms`);
            }
          });
        });
        await fc.assert(property, options);
      });

      test("never refuses a client that stays below the rate", async () => {
        const waits = fc.array(fc.integer({ min: 0, max: policy.intervalMs }), { maxLength: 60 });
        const property = fc.asyncProperty(waits, async (extraMs) => {
          let now = 1_000_000;
          const limiter = open(() => now);
          const key = newKey();
          for (const extra of extraMs) {
            now += policy.intervalMs + extra;
            assert.equal((await limiter.take(key, policy)).admitted, true);
          }
        });
        await fc.assert(property, options);
      });

      test("does not count refused requests", async () => {
        const property = fc.asyncProperty(schedules(policy), async (schedule) => {
          let now = 1_000_000;
          const limiter = open(() => now);
          const [pushy, calm] = [newKey(), newKey()];
          for (const { waitMs, count } of schedule) {
            now += waitMs;
            let admitted = 0;
            for (let i = 0; i < count; i++) {
              if ((await limiter.take(pushy, policy)).admitted) admitted++;
            }
            for (let i = 0; i < admitted; i++) {
              assert.equal((await limiter.take(calm, policy)).admitted, true);
            }
            if (admitted < count) assert.equal((await limiter.take(calm, policy)).admitted, false);
          }
        });
        await fc.assert(property, { ...options, numRuns: Math.ceil(runs / 3) });
      });

      test("has a separate limit for each key", async () => {
        const limiter = open(() => 1_000_000);
        const [spent, fresh] = [newKey(), newKey()];
        const asked = Array.from({ length: policy.burst * 2 }, () => limiter.take(spent, policy));
        const admitted = (await Promise.all(asked)).filter((verdict) => verdict.admitted);
        assert.equal(admitted.length, policy.burst);
        assert.equal((await limiter.take(fresh, policy)).remaining, policy.burst - 1);
      });
    });
  }
}

describe("a rate limiter of two servers on one PostgreSQL", () => {
  test("both servers share one limit", async () => {
    const servers = [postgresLimiter(store), postgresLimiter(other)];
    const key = newKey();
    const began = performance.now();
    let admitted = 0;
    for (let round = 0; round < 10; round++) {
      const asked = Array.from({ length: 40 }, (_, i) =>
        servers[i % 2]!.take(key, policies.apiKey),
      );
      for (const verdict of await Promise.all(asked)) if (verdict.admitted) admitted++;
    }
    const elapsedMs = performance.now() - began;
    assert.ok(admitted >= policies.apiKey.burst, `${admitted} admitted`);
    assert.ok(admitted <= policies.apiKey.burst + elapsedMs / policies.apiKey.intervalMs + 1);
  });

  test("requests with many keys in opposite orders do not deadlock", async () => {
    const servers = [postgresLimiter(store), postgresLimiter(other)];
    const names = Array.from({ length: 50 }, newKey);
    for (let round = 0; round < 20; round++) {
      const asked = names.map((key) => servers[0]!.take(key, policies.apiKey));
      const reversed = names.toReversed().map((key) => servers[1]!.take(key, policies.apiKey));
      await Promise.all([...asked, ...reversed]);
    }
  });

  test("a client is not locked out if the database's clock is set back by an hour", async () => {
    let now = 10_000_000_000;
    const limiter = postgresLimiter(store, () => now * 1000);
    const key = newKey();
    for (let i = 0; i < 5; i++) await limiter.take(key, policies.apiKey);
    now -= 3_600_000;
    assert.equal((await limiter.take(key, policies.apiKey)).admitted, false);
    now += policies.apiKey.intervalMs;
    assert.equal((await limiter.take(key, policies.apiKey)).admitted, true);
  });
});

test("a rate limiter throws if the database returns no row for a key", () => {
  const limiter = postgresLimiter({ ...store, prepared: async () => [] });
  return assert.rejects(limiter.take(newKey(), policies.apiKey), {
    message:
      "the rate limiter's SQL statement returned 0 rows, " +
      `but none for a request that counts against the limit "${policies.apiKey.name}"`,
  });
});

describe("a rate limiter whose database is down", () => {
  test("limits requests in memory, and reports each failure", async () => {
    let faults = 0;
    const down: Limiter = { take: () => Promise.reject(new Error("connection refused")) };
    const limiter = withLocalFallback(down, () => {
      faults++;
    });
    const { burst } = policies.clientId;
    const verdicts = [];
    for (let i = 0; i < burst + 1; i++) verdicts.push(await limiter.take("a", policies.clientId));
    assert.deepEqual(
      verdicts.map((verdict) => verdict.admitted),
      [...Array(burst).fill(true), false],
    );
    assert.equal(faults, burst + 1);
  });
});
