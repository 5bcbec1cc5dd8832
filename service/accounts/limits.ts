// Counts requests against the rate limits of policies.ts, with the generic cell rate algorithm. For
// each key, the algorithm stores a single time, at which the full burst is available again. With
// SQLite, there is only one server, which stores these times in memory. Servers that share a
// PostgreSQL database store them in a table.

import { sql } from "kysely";
import { together } from "../flow/together.ts";
import { withTimeout } from "../flow/wait.ts";
import type { Store } from "../store/store.ts";
import type { Policy } from "./policies.ts";

/**
 * Whether the limiter admits a request, and the values for the rate limit headers. `remaining` is
 * the number of further requests that would be admitted now. `resetMs` is the time until the full
 * burst is available again. If the request was refused, `retryMs` is the time until the next
 * request would be admitted. Otherwise, `retryMs` is 0.
 */
export type LimitVerdict = {
  admitted: boolean;
  remaining: number;
  resetMs: number;
  retryMs: number;
};

export type Limiter = {
  /**
   * Admits or refuses one request of `key`. In any period of t ms, admits at most burst + t /
   * intervalMs + 1 requests. Never refuses a client whose requests are at least intervalMs apart.
   * Refused requests do not count.
   */
  take(key: string, policy: Policy): Promise<LimitVerdict>;
};

/**
 * Returns the limiter's result for one request, from the state of the key's limit.
 *
 * @param dueInMs the time until the full burst is available again. If the request was admitted,
 *   `dueInMs` already includes the request's `intervalMs`.
 */
function toVerdict(admitted: boolean, dueInMs: number, policy: Policy): LimitVerdict {
  const spareMs = policy.burst * policy.intervalMs - dueInMs;
  return {
    admitted,
    remaining: Math.max(0, Math.floor(spareMs / policy.intervalMs)),
    resetMs: Math.max(0, dueInMs),
    retryMs: admitted ? 0 : policy.intervalMs - spareMs,
  };
}

const keysBeforePruning = 10_000;

/**
 * Returns a limiter for one process.
 *
 * @param clock returns milliseconds and never goes back
 */
export function memoryLimiter(clock: () => number = () => performance.now()): Limiter {
  const wholeAtMs = new Map<string, number>();
  let pruneAbove = keysBeforePruning;

  const prune = (nowMs: number) => {
    for (const [key, timeMs] of wholeAtMs) if (timeMs <= nowMs) wholeAtMs.delete(key);
    pruneAbove = Math.max(keysBeforePruning, wholeAtMs.size * 2);
  };

  return {
    async take(key, policy) {
      const nowMs = clock();
      const dueInMs = Math.max(0, (wholeAtMs.get(key) ?? nowMs) - nowMs);
      const admitted = dueInMs + policy.intervalMs <= policy.burst * policy.intervalMs;
      if (!admitted) return toVerdict(false, dueInMs, policy);
      wholeAtMs.set(key, nowMs + dueInMs + policy.intervalMs);
      if (wholeAtMs.size > pruneAbove) prune(nowMs);
      return toVerdict(true, dueInMs + policy.intervalMs, policy);
    },
  };
}

/**
 * Returns a limiter that normally uses `shared`, but uses `local` if a call of `shared` fails. So a
 * failure of the shared limiter does not block clients. While the shared limiter fails, each server
 * counts requests separately.
 *
 * @param onFault called for each failure of `shared`
 */
export function withLocalFallback(
  shared: Limiter,
  onFault: (error: unknown) => void,
  local = memoryLimiter(),
): Limiter {
  return {
    async take(key, policy) {
      try {
        return await shared.take(key, policy);
      } catch (error) {
        onFault(error);
        return local.take(key, policy);
      }
    },
  };
}

type LimitedRequest = { key: string; policy: Policy };
type LimitRow = { key: string; whole_at: string; at: string; admitted: number };

type LimiterStore = Pick<Store, "db" | "prepared">;

const groupSizeMax = 1024;
const answerTimeoutMs = 1000;
const pruneIntervalMs = 600_000;

/**
 * Returns the limiter that all servers on one PostgreSQL database share. The limiter stores one row
 * for each key, and uses the database's clock. A single statement checks all requests that arrive
 * together. The table is unlogged, so writes do not wait for the disk. A crash of the database
 * resets all limits.
 *
 * @param nowMicros a clock for tests, in microseconds, instead of the database's clock
 */
export function postgresLimiter(store: LimiterStore, nowMicros?: () => number): Limiter {
  let prunedAtMs = performance.now();
  const judge = async (requests: LimitedRequest[]): Promise<LimitVerdict[]> => {
    const rows = await withTimeout(
      answerTimeoutMs,
      take(store, countByKey(requests), nowMicros?.()),
      late,
    );
    if (performance.now() - prunedAtMs > pruneIntervalMs) {
      prunedAtMs = performance.now();
      await prune(store.db);
    }
    return judgeByRows(requests, rows);
  };
  const takeTogether = together(judge, { sizeMax: groupSizeMax });
  return { take: (key, policy) => takeTogether({ key, policy }) };
}

function countByKey(requests: LimitedRequest[]): (LimitedRequest & { count: number })[] {
  const counts = new Map<string, LimitedRequest & { count: number }>();
  for (const { key, policy } of requests) {
    const entry = counts.get(key);
    if (entry) entry.count++;
    else counts.set(key, { key, policy, count: 1 });
  }
  return [...counts.values()];
}

/**
 * For each key, admits as many requests as the limit allows. Rows are locked in the order of their
 * keys, so that two servers cannot deadlock.
 *
 * The column `whole_at` is the time at which the full burst is available again. Normally,
 * `whole_at` is at most the current time plus the time of a full refill. If the database's clock is
 * set back, `whole_at` can be hours later than this maximum. The client would then be locked out.
 * If `whole_at` exceeds the maximum by more than ten seconds, the statement replaces it with the
 * maximum.
 */
async function take(
  { prepared }: LimiterStore,
  requests: (LimitedRequest & { count: number })[],
  nowMicros: number | undefined,
): Promise<Map<string, LimitRow>> {
  const keys = requests.map(({ key }) => key);
  const counts = requests.map(({ count, policy }) => Math.min(count, policy.burst));
  const intervals = requests.map(({ policy }) => policy.intervalMs * 1000);
  const bursts = requests.map(({ policy }) => policy.burst);
  const values = [nowMicros ?? null, keys, counts, intervals, bursts];
  const rows = await prepared!({ name: "take-limits", text: takeStatement, values });
  return new Map((rows as LimitRow[]).map((row) => [row.key, row]));
}

/**
 * The statement that counts requests. It is prepared, so that PostgreSQL plans it only once per
 * connection.
 */
const takeStatement = `
  with clock as (select coalesce($1::bigint,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now)
  insert into limits as held (key, whole_at, at, admitted, interval_us, burst)
  select key, now + count * interval_us, now, count, interval_us, burst
    from clock, unnest($2::text[], $3::int[], $4::bigint[], $5::int[])
      as requests (key, count, interval_us, burst)
    order by key
  on conflict (key) do update set (whole_at, at, admitted, interval_us, burst) = (
    select base + admitted * excluded.interval_us, excluded.at, admitted,
        excluded.interval_us, excluded.burst
      from (select case
          when held.whole_at > excluded.at + excluded.burst * excluded.interval_us + 10000000
          then excluded.at + excluded.burst * excluded.interval_us
          else greatest(held.whole_at, excluded.at) end as base) as b,
        lateral (select greatest(0, least(excluded.admitted,
          (excluded.at + excluded.burst * excluded.interval_us - base)
            / excluded.interval_us))::int as admitted) as a)
  returning key, whole_at, at, admitted`;

/**
 * Returns the result for each request, in the given order. If the limit admits only some requests
 * of a key, admits the first ones.
 */
function judgeByRows(requests: LimitedRequest[], rows: Map<string, LimitRow>): LimitVerdict[] {
  const seen = new Map<string, number>();
  return requests.map(({ key, policy }) => {
    const row = rows.get(key);
    if (!row) {
      const found = `the rate limiter's SQL statement returned ${rows.size} rows`;
      throw new Error(
        `${found}, but none for a request that counts against the limit "${policy.name}"`,
      );
    }
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    const dueInMs = (Number(row.whole_at) - Number(row.at)) / 1000;
    return toVerdict(before < row.admitted, dueInMs, policy);
  });
}

const late = () => new Error(`the limiter's store did not respond within ${answerTimeoutMs} ms`);

async function prune(db: Store["db"]): Promise<void> {
  await sql`delete from limits
    where whole_at < (extract(epoch from clock_timestamp()) * 1000000)::bigint`.execute(db);
}
