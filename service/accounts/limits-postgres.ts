// The limiter that many servers share: one row per key in PostgreSQL, judged by its clock.

import { sql } from "kysely";
import { together } from "../flow/together.ts";
import { within } from "../flow/wait.ts";
import type { Store } from "../store/store.ts";
import { type Limiter, type LimitVerdict, type Policy, toVerdict } from "./limits.ts";

type LimitedRequest = { key: string; policy: Policy };
type LimitRow = { key: string; whole_at: string; at: string; admitted: number };

type LimiterStore = Pick<Store, "db" | "prepared">;

const groupSizeMax = 1024;
const answerTimeoutMs = 1000;
const sweepIntervalMs = 600_000;

/**
 * Requests that arrive together are judged by one statement; the table is unlogged, so it waits
 * for no disk, and a crash of the database forgives what was spent.
 *
 * @param nowMicros for tests; the database's own clock when left out
 */
export function postgresLimiter(store: LimiterStore, nowMicros?: () => number): Limiter {
  let sweptAtMs = performance.now();
  const judge = async (asked: LimitedRequest[]): Promise<LimitVerdict[]> => {
    const rows = await within(
      answerTimeoutMs,
      spend(store, countByKey(asked), nowMicros?.()),
      late,
    );
    if (performance.now() - sweptAtMs > sweepIntervalMs) {
      sweptAtMs = performance.now();
      await sweep(store.db);
    }
    return verdicts(asked, rows);
  };
  const spendTogether = together(judge, { sizeMax: groupSizeMax });
  return { take: (key, policy) => spendTogether({ key, policy }) };
}

function countByKey(asked: LimitedRequest[]): (LimitedRequest & { count: number })[] {
  const counts = new Map<string, LimitedRequest & { count: number }>();
  for (const { key, policy } of asked) {
    const entry = counts.get(key);
    if (entry) entry.count++;
    else counts.set(key, { key, policy, count: 1 });
  }
  return [...counts.values()];
}

/**
 * Admits as many of each key's requests as its limit allows. Rows are locked in the order of their
 * keys, so that two servers never wait for each other. A `whole_at` further ahead than a burst and
 * ten seconds can come only from a clock that was set back: it counts as a spent burst.
 */
async function spend(
  { prepared }: LimiterStore,
  asked: (LimitedRequest & { count: number })[],
  nowMicros: number | undefined,
): Promise<Map<string, LimitRow>> {
  const keys = asked.map(({ key }) => key);
  const counts = asked.map(({ count, policy }) => Math.min(count, policy.burst));
  const intervals = asked.map(({ policy }) => policy.intervalMs * 1000);
  const bursts = asked.map(({ policy }) => policy.burst);
  const values = [nowMicros ?? null, keys, counts, intervals, bursts];
  const rows = await prepared!({ name: "spend-limits", text: spendLimits, values });
  return new Map((rows as LimitRow[]).map((row) => [row.key, row]));
}

/** Prepared, since planning takes longer than running it. */
const spendLimits = `
  with clock as (select coalesce($1::bigint,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now)
  insert into limits as held (key, whole_at, at, admitted, interval_us, burst)
  select key, now + count * interval_us, now, count, interval_us, burst
    from clock, unnest($2::text[], $3::int[], $4::bigint[], $5::int[])
      as asked (key, count, interval_us, burst)
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

/** The first of a key's requests are those admitted. */
function verdicts(asked: LimitedRequest[], rows: Map<string, LimitRow>): LimitVerdict[] {
  const seen = new Map<string, number>();
  return asked.map(({ key, policy }) => {
    const row = rows.get(key);
    if (!row) throw new Error("the limiter's statement left a key unanswered");
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    const dueInMs = (Number(row.whole_at) - Number(row.at)) / 1000;
    return toVerdict(before < row.admitted, dueInMs, policy);
  });
}

const late = () => new Error(`the limiter's store gave no answer within ${answerTimeoutMs} ms`);

async function sweep(db: Store["db"]): Promise<void> {
  await sql`delete from limits
    where whole_at < (extract(epoch from clock_timestamp()) * 1000000)::bigint`.execute(db);
}
