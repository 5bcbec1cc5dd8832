// Finishes attempts: keeps how each went, and in the same transaction what follows: another
// attempt, the address's next event, or an endpoint that is disabled.

import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { standingAfter } from "../lanes.ts";
import type { Sent } from "../send.ts";
import { outageFailures, releaseBacklog } from "./backlog.ts";
import type { Claim } from "./claim.ts";
import { endTurn, lockEndpoint } from "./lock-endpoint.ts";
import { attemptsMax, waitMsOf } from "./waits.ts";

/** An endpoint that took nothing for so long is disabled. */
const failingMsMax = 3 * 86_400_000;

export type Outcome = "delivered" | "retried" | "failed" | "disabled";
export type Finished = { claim: Claim; sent: Sent; nowMs: number };

/**
 * Keeps how each went, and what follows, in one transaction. Repeating it for an attempt changes
 * nothing.
 * @returns in the order given
 */
export async function finish(
  db: Kysely<Tables>,
  finished: readonly Finished[],
  random: () => number,
): Promise<Outcome[]> {
  const inOrder = finished.toSorted((a, b) => (a.claim.endpointId < b.claim.endpointId ? -1 : 1));
  return db.transaction().execute(async (transaction) => {
    const outcomes = new Map<Finished, Outcome>();
    for (const each of inOrder) outcomes.set(each, await finishOne(transaction, each, random));
    return finished.map((each) => outcomes.get(each)!);
  });
}

async function finishOne(
  transaction: Transaction<Tables>,
  { claim: { id, endpointId, attempts }, sent, nowMs }: Finished,
  random: () => number,
): Promise<Outcome> {
  const isTaken = sent.status !== null && sent.status >= 200 && sent.status < 300;
  const number = attempts + 1;
  const endpoint = await lockEndpoint(transaction, endpointId);
  const found = await transaction
    .selectFrom("webhook_deliveries")
    .select(["address", "attempts", "state"])
    .where("id", "=", id)
    .executeTakeFirst();
  if (!endpoint || !found || found.state !== "waiting" || found.attempts !== attempts) {
    return "retried";
  }
  const { status, latencyMs, answer } = sent;
  await transaction
    .insertInto("webhook_attempts")
    .values({ delivery_id: id, number, at: nowMs, status, latency_ms: latencyMs, answer })
    .execute();
  const isOver = isTaken || number >= attemptsMax;
  const state = isTaken ? "delivered" : isOver ? "failed" : "waiting";
  const due_at = isOver ? null : nowMs + waitMsOf(number, sent, random);
  await transaction
    .updateTable("webhook_deliveries")
    .set({ state, attempts: number, due_at, is_claimed: 0 })
    .where("id", "=", id)
    .execute();
  if (isOver && found.address) {
    await release(transaction, endpointId, Buffer.from(found.address), nowMs);
  }
  const sinceMs = isTaken ? null : (endpoint.failing_since ?? nowMs);
  const reason = disabledBecause(sent, sinceMs, nowMs);
  const { lane, barred_until: barredUntilMs } = endpoint;
  const standing = { lane, streak: Number(endpoint.streak), barredUntilMs: Number(barredUntilMs) };
  const next = standingAfter(standing, { isTaken, latencyMs }, nowMs);
  const isOutageOver = isTaken && standing.streak <= -outageFailures;
  const isMore = isOutageOver && (await releaseBacklog(transaction, endpointId, nowMs));
  await transaction
    .updateTable("webhook_endpoints")
    .set({
      ...{ failing_since: sinceMs, lane: next.lane, barred_until: next.barredUntilMs },
      streak: isMore ? standing.streak : next.streak,
      ...reason,
    })
    .where("id", "=", endpointId)
    .execute();
  await endTurn(transaction, endpointId, nowMs);
  if ("state" in reason) return "disabled";
  return isTaken ? "delivered" : isOver ? "failed" : "retried";
}

function disabledBecause({ status }: Sent, failingSinceMs: number | null, nowMs: number) {
  const disabled = (reason: string) => ({ state: "disabled" as const, reason });
  if (status === 410) return disabled("it answered 410 Gone");
  if (failingSinceMs !== null && nowMs - failingSinceMs >= failingMsMax) {
    return disabled("it took nothing for 3 days");
  }
  return {};
}

async function release(
  transaction: Transaction<Tables>,
  endpointId: string,
  address: Buffer,
  nowMs: number,
): Promise<void> {
  const next = await transaction
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("endpoint_id", "=", endpointId)
    .where("address", "=", address)
    .where("state", "=", "held")
    .orderBy("sequence")
    .limit(1)
    .executeTakeFirst();
  if (!next) return;
  await transaction
    .updateTable("webhook_deliveries")
    .set({ state: "waiting", due_at: nowMs })
    .where("id", "=", next.id)
    .execute();
}
