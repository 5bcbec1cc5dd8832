// Claims due deliveries, and stores the results of their requests. A claim postpones a delivery's
// due time. No other process can send the delivery until its result is stored or the claim expires.

import { type Kysely, sql, type Transaction } from "kysely";
import { bodyOf, eventRetentionMs } from "../../events/list.ts";
import { dayMs } from "../../flow/days.ts";
import type { Tables } from "../../store/tables.ts";
import { type Due, type Lane, type Rule, threeLanes } from "../lanes.ts";
import { isTaken, type Sent } from "../send.ts";
import { lockEndpoints, nextTurn } from "./lock-endpoints.ts";
import { attemptsMax, drawWaitMs, outageFailures, releaseBacklog } from "./retries.ts";

/** The time after which a claim expires. Any process can then claim the delivery again. */
const claimMs = 60_000;

/**
 * Finds a lane's active endpoints that are due. The endpoint that has waited longest for its turn
 * comes first.
 *
 * @param busy the IDs of accounts that must not start another request now
 */
export async function findDueEndpoints(
  db: Kysely<Tables>,
  lane: Lane,
  busy: readonly string[],
  nowMs: number,
  limit: number,
): Promise<Due[]> {
  return db
    .selectFrom("webhook_endpoints")
    .select(["id", "account_id as accountId"])
    .where("state", "=", "active")
    .where("lane", "=", lane)
    .$if(busy.length > 0, (query) => query.where("account_id", "not in", busy))
    .where("next_due", "<=", nowMs)
    .orderBy("next_due")
    .limit(limit)
    .execute();
}

/**
 * A delivery that this process has claimed and must send now. `secrets` are the endpoint's valid
 * secrets.
 */
export type Claim = {
  id: string;
  endpointId: string;
  accountId: string;
  eventId: string;
  url: string;
  secrets: string[];
  body: string;
  attempts: number;
};

/**
 * Claims up to `room` due deliveries of each endpoint in one transaction. If the event of a due
 * delivery was deleted, the delivery fails instead, because there is no body to sign and to send.
 * The number of SQL statements does not depend on the number of endpoints.
 */
export async function claim(
  db: Kysely<Tables>,
  endpoints: readonly (Due & { room: number })[],
  nowMs: number,
): Promise<Claim[]> {
  return db.transaction().execute(async (transaction) => {
    const locked = await lockEndpoints(
      transaction,
      endpoints.map(({ id }) => id),
    );
    const active = new Map(
      locked.filter(({ state }) => state === "active").map((row) => [row.id, row]),
    );
    const claimable = endpoints.filter(({ id }) => active.has(id));
    if (claimable.length === 0) return [];
    const rows = await findDue(transaction, claimable, nowMs);
    const found = rows.map((row) => {
      const { account_id, url, secret, old_secret, old_until } = active.get(row.endpoint_id)!;
      const claim = {
        ...{ id: row.id, endpointId: row.endpoint_id, accountId: account_id },
        ...{ eventId: row.event_id, url, attempts: row.attempts },
        secrets: [secret, ...(old_secret && (old_until ?? 0) > nowMs ? [old_secret] : [])],
      };
      return { claim, address: row.address, body: row.body ?? row.event_body };
    });
    const claims = found.flatMap(({ claim, body }) => (body === null ? [] : [{ ...claim, body }]));
    const lost = found.filter(({ body }) => body === null);
    if (claims.length > 0)
      await transaction
        .updateTable("webhook_deliveries")
        .set({ due_at: nowMs + claimMs, is_claimed: 1 })
        .where(
          "id",
          "in",
          claims.map(({ id }) => id),
        )
        .execute();
    if (lost.length > 0) await failLost(transaction, lost, nowMs);
    await transaction
      .updateTable("webhook_endpoints")
      .set({ next_due: nextTurn(nowMs) })
      .where("id", "in", [...active.keys()])
      .execute();
    return claims;
  });
}

/** Ends deliveries whose events were deleted. The endpoint's state does not change. */
async function failLost(
  transaction: Transaction<Tables>,
  lost: readonly (Pick<Finished, "claim"> & Pick<Attempt, "address">)[],
  nowMs: number,
): Promise<void> {
  const answer = `not sent, because the event was deleted after ${eventRetentionMs / dayMs} days`;
  const sent: Sent = { status: null, answer, latencyMs: 0, retryAfterSeconds: null };
  const attempts = lost.map(({ claim, address }): Attempt => {
    const number = claim.attempts + 1;
    return { finished: { claim, sent, nowMs }, number, isTaken: false, isOver: true, address };
  });
  await keepAttempts(transaction, attempts, () => 0);
  await releaseNext(transaction, attempts, nowMs);
}

/**
 * Finds due deliveries, up to `room` for each endpoint. The delivery that has been due longest
 * comes first.
 */
function findDue(
  transaction: Transaction<Tables>,
  endpoints: readonly (Due & { room: number })[],
  nowMs: number,
) {
  const each = endpoints.map(({ id, room }) =>
    transaction
      .selectFrom((from) =>
        from
          .selectFrom("webhook_deliveries as d")
          .select(["d.id", "d.endpoint_id", "d.event_id", "d.attempts", "d.address", "d.body"])
          .select(bodyOf(sql.ref("d.event_id")).as("event_body"))
          .where("d.endpoint_id", "=", id)
          .where("d.state", "=", "waiting")
          .where("d.due_at", "<=", nowMs)
          .orderBy("d.due_at")
          .orderBy("d.created_at")
          .limit(room)
          .as("due"),
      )
      .selectAll(),
  );
  return each.reduce((all, more) => all.unionAll(more)).execute();
}

/** The number of days after which an endpoint is disabled if all its attempts fail. */
const failingDaysMax = 3;

/** `dropped`: the result was already stored, or the delivery or its endpoint was deleted. */
export type AttemptOutcome = "delivered" | "retried" | "failed" | "disabled" | "dropped";
export type Finished = { claim: Omit<Claim, "body">; sent: Sent; nowMs: number };

/**
 * Stores the results of requests in one transaction, and updates the deliveries and endpoints. The
 * call is idempotent, because each attempt is stored only once. The number of SQL statements does
 * not grow with the number of results, so the transaction remains short. The only exception is a
 * result that ends an endpoint's outage.
 *
 * @returns the outcomes, in the order of `finished`
 */
export async function finish(
  db: Kysely<Tables>,
  finished: readonly Finished[],
  random: () => number,
  rule = threeLanes,
): Promise<AttemptOutcome[]> {
  const ids = new Set(finished.map(({ claim }) => claim.endpointId));
  return db.transaction().execute(async (transaction) => {
    const locked = await lockEndpoints(transaction, [...ids]);
    const endpoints = new Map(locked.map((row) => [row.id, row]));
    const attempts = await findNew(
      transaction,
      finished.filter(({ claim }) => endpoints.has(claim.endpointId)),
    );
    if (attempts.length === 0) return finished.map(() => "dropped");
    const nowMs = Math.max(...attempts.map((each) => each.finished.nowMs));
    await keepAttempts(transaction, attempts, random);
    await releaseNext(transaction, attempts, nowMs);
    const outcomes = new Map<Finished, AttemptOutcome>();
    for (const each of attempts) {
      const { endpointId } = each.finished.claim;
      const next = await judge(transaction, endpoints.get(endpointId)!, each, rule);
      endpoints.set(endpointId, next);
      outcomes.set(each.finished, next.state === "disabled" ? "disabled" : nameOutcome(each));
    }
    await saveEndpoints(transaction, [...endpoints.values()], nowMs);
    return finished.map((each) => outcomes.get(each) ?? "dropped");
  });
}

/**
 * An attempt to deliver an event, and its result. `number` is 1 for the first attempt of a
 * delivery. `isTaken` is true if the endpoint accepted the event. `isOver` is true if the delivery
 * gets no further attempt. `address` is the event's address, or null for a replay or a test.
 */
type Attempt = {
  finished: Finished;
  number: number;
  isTaken: boolean;
  isOver: boolean;
  address: Uint8Array | null;
};

/** Returns the attempts whose results are not stored yet, at most one for each delivery. */
async function findNew(
  transaction: Transaction<Tables>,
  finished: readonly Finished[],
): Promise<Attempt[]> {
  if (finished.length === 0) return [];
  const ids = finished.map(({ claim }) => claim.id);
  const rows = await transaction
    .selectFrom("webhook_deliveries")
    .select(["id", "address", "attempts"])
    .where("id", "in", ids)
    .where("state", "=", "waiting")
    .execute();
  const open = new Map(rows.map((row) => [row.id, row]));
  return finished.flatMap((each) => {
    const { id, attempts } = each.claim;
    const row = open.get(id);
    if (row?.attempts !== attempts) return [];
    open.delete(id);
    const number = attempts + 1;
    const wasTaken = isTaken(each.sent);
    const isOver = wasTaken || number >= attemptsMax;
    return [{ finished: each, number, isTaken: wasTaken, isOver, address: row.address }];
  });
}

const nameOutcome = ({ isTaken, isOver }: Attempt): AttemptOutcome =>
  isTaken ? "delivered" : isOver ? "failed" : "retried";

async function keepAttempts(
  transaction: Transaction<Tables>,
  attempts: readonly Attempt[],
  random: () => number,
): Promise<void> {
  const rows = attempts.map(({ finished: { claim, sent, nowMs }, number }) => {
    const { status, latencyMs: latency_ms, answer } = sent;
    return { delivery_id: claim.id, number, at: nowMs, status, latency_ms, answer };
  });
  await transaction.insertInto("webhook_attempts").values(rows).execute();
  const ends = attempts.map((each) => {
    const { claim, sent, nowMs } = each.finished;
    const state = each.isOver ? nameOutcome(each) : "waiting";
    const dueAtMs = each.isOver ? null : nowMs + drawWaitMs(each.number, sent, random);
    return sql`(${claim.id}, ${state}, cast(${dueAtMs} as bigint))`;
  });
  await sql`update webhook_deliveries
    set state = ended.column2, due_at = ended.column3, attempts = attempts + 1, is_claimed = 0
    from (values ${sql.join(ends)}) as ended where id = ended.column1`.execute(transaction);
}

/**
 * Computes the endpoint's row after an attempt. If the attempt ends an outage of the endpoint, also
 * makes the endpoint's waiting deliveries due.
 */
async function judge(
  transaction: Transaction<Tables>,
  endpoint: Endpoint,
  { finished: { sent, nowMs }, isTaken }: Attempt,
  rule: Rule,
): Promise<Endpoint> {
  const { id, lane, streak, barred_until: barredUntilMs } = endpoint;
  const failing_since = isTaken ? null : (endpoint.failing_since ?? nowMs);
  const { latencyMs } = sent;
  const next = rule.nextLaneState({ lane, streak, barredUntilMs }, { isTaken, latencyMs }, nowMs);
  const isOutageOver = isTaken && streak <= -outageFailures;
  const isMore = isOutageOver && (await releaseBacklog(transaction, id, nowMs));
  return {
    ...{ ...endpoint, failing_since, lane: next.lane, barred_until: next.barredUntilMs },
    streak: isMore ? streak : next.streak,
    ...disabledBecause(sent, failing_since, nowMs),
  };
}

type Endpoint = Awaited<ReturnType<typeof lockEndpoints>>[number];

function disabledBecause({ status }: Sent, failingSinceMs: number | null, nowMs: number) {
  const disabled = (reason: string) => ({ state: "disabled" as const, reason });
  if (status === 410) return disabled("the endpoint answered 410 Gone");
  if (failingSinceMs !== null && nowMs - failingSinceMs >= failingDaysMax * dayMs) {
    return disabled(`all deliveries failed for ${failingDaysMax} days`);
  }
  return {};
}

async function saveEndpoints(
  transaction: Transaction<Tables>,
  endpoints: readonly Endpoint[],
  nowMs: number,
): Promise<void> {
  const rows = endpoints.map(
    ({ id, state, reason, failing_since, lane, streak, barred_until }) =>
      sql`(${id}, ${state}, ${reason}, cast(${failing_since} as bigint), cast(${lane} as bigint),
        cast(${streak} as bigint), cast(${barred_until} as bigint))`,
  );
  await sql`update webhook_endpoints
    set state = judged.column2, reason = judged.column3, failing_since = judged.column4,
      lane = judged.column5, streak = judged.column6, barred_until = judged.column7,
      next_due = ${nextTurn(nowMs)}
    from (values ${sql.join(rows)}) as judged where id = judged.column1`.execute(transaction);
}

/** After a delivery's success or last failure, makes the address's next delivery due. */
async function releaseNext(
  transaction: Transaction<Tables>,
  attempts: readonly Attempt[],
  nowMs: number,
): Promise<void> {
  const heads = attempts.flatMap(({ finished: { claim }, isOver, address }) =>
    isOver && address
      ? [
          transaction
            .selectFrom((from) =>
              from
                .selectFrom("webhook_deliveries")
                .select("id")
                .where("endpoint_id", "=", claim.endpointId)
                .where("address", "=", Buffer.from(address))
                .where("state", "=", "held")
                .orderBy("sequence")
                .limit(1)
                .as("next"),
            )
            .select("id"),
        ]
      : [],
  );
  if (heads.length === 0) return;
  const next = await heads.reduce((all, more) => all.unionAll(more)).execute();
  if (next.length === 0) return;
  await transaction
    .updateTable("webhook_deliveries")
    .set({ state: "waiting", due_at: nowMs })
    .where(
      "id",
      "in",
      next.map(({ id }) => id),
    )
    .execute();
}
