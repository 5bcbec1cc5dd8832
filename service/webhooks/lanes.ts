// Decides who is served when: three lanes of places, so that endpoints which hang, fail or flip
// delay only their like. Pure: the same facts give the same choice.
//
// The fast lane is earned by good answers in a row, and lost for minutes by the first bad one. In
// it a request has a place for a second, and goes on in one of the slow lane where that has room.
// An account may take another place while it has less than an eighth of what is free: the more
// accounts hold places the fewer each gets. Strangers used nothing yet when they begin, so two
// lanes have many places: of 256, a hundred accounts with ten endpoints each held all for seconds.

/** 0 fast; 1 slow but answering, or new; 2 failing. */
export type Lane = 0 | 1 | 2;

/** Requests under way at once: of all endpoints, and of one. */
export const places: Record<Lane, { all: number; endpoint: number }> = {
  0: { all: 1_024, endpoint: 4 },
  1: { all: 1_024, endpoint: 1 },
  2: { all: 64, endpoint: 1 },
};
/** One account gets this part of the free places. A hundred that hang leave 76 of 1,024. */
const shareOfFree = 1 / 8;
/** An answer is good within this, and a request has a place of the fast lane for as long. */
export const goodMsMax = 1_000;
/** Good answers in a row that earn the fast lane. */
const goodToEarn = 3;
/** A bad answer keeps an endpoint out of the fast lane for so long. */
const barredMs = 300_000;

/** `streak`: good answers in a row; below 0 failures in a row. */
export type Standing = { lane: Lane; streak: number; barredUntilMs: number };

export const newStanding: Standing = { lane: 1, streak: 0, barredUntilMs: 0 };

/** Computes an endpoint's standing after an answer. */
export function standingAfter(
  { streak, barredUntilMs }: Standing,
  { isTaken, latencyMs }: { isTaken: boolean; latencyMs: number },
  nowMs: number,
): Standing {
  if (!isTaken) {
    return { lane: 2, streak: Math.min(0, streak) - 1, barredUntilMs: nowMs + barredMs };
  }
  if (latencyMs > goodMsMax) return { lane: 1, streak: 0, barredUntilMs: nowMs + barredMs };
  const good = Math.max(0, streak) + 1;
  const isEarned = good >= goodToEarn && nowMs >= barredUntilMs;
  return { lane: isEarned ? 0 : 1, streak: good, barredUntilMs };
}

/** The requests under way in a lane: all of them, and by the ids of endpoints and accounts. */
export type UnderWay = { all: number; byId: Map<string, number> };

export const noneUnderWay = (): UnderWay => ({ all: 0, byId: new Map() });

export type Due = { id: string; accountId: string };

export function count(underWay: UnderWay, { id, accountId }: Due, by: 1 | -1): void {
  underWay.all += by;
  for (const key of [id, accountId]) {
    const counted = (underWay.byId.get(key) ?? 0) + by;
    if (counted > 0) underWay.byId.set(key, counted);
    else underWay.byId.delete(key);
  }
}

/** How many places an account had on average in the last minutes: half is forgotten in one. */
export function recentUse() {
  const halfLifeMs = 60_000;
  const used = new Map<string, { ms: number; atMs: number }>();
  const ms = (accountId: string, nowMs: number) => {
    const held = used.get(accountId);
    return held ? held.ms * 0.5 ** (Math.max(0, nowMs - held.atMs) / halfLifeMs) : 0;
  };
  return {
    of: (accountId: string, nowMs: number) => (ms(accountId, nowMs) * Math.LN2) / halfLifeMs,
    add(accountId: string, moreMs: number, nowMs: number) {
      used.set(accountId, { ms: ms(accountId, nowMs) + moreMs, atMs: nowMs });
      if (used.size <= 10_000) return;
      for (const [id] of used) if (ms(id, nowMs) < 1) used.delete(id);
    },
  };
}

/** Whether an account may have a place more. @param used on average, lately */
export function mayHaveMore(lane: Lane, underWay: UnderWay, accountId: string, used: number) {
  const free = places[lane].all - underWay.all;
  return (underWay.byId.get(accountId) ?? 0) + used < free * shareOfFree;
}

/**
 * Shares the free places of a lane among the endpoints that are due: one at a time to the account
 * that has, with what it used lately, the fewest, and of its endpoints in the order given.
 *
 * @param most places to be given at once, by one commit for which others wait
 */
export function share<One extends Due>(
  due: readonly One[],
  lane: Lane,
  { all, byId }: UnderWay,
  usedBy: (accountId: string) => number,
  most: number,
): (One & { room: number })[] {
  const then = { all, byId: new Map(byId) };
  // An account that may have no place now may have none after others got theirs.
  const accounts = [...new Set(due.map(({ accountId }) => accountId))];
  const used = new Map(
    accounts
      .map((id) => [id, usedBy(id)] as const)
      .filter(([id, lately]) => mayHaveMore(lane, { all, byId }, id, lately)),
  );
  const has = new Map([...used].map(([id, lately]) => [id, lately + (byId.get(id) ?? 0)]));
  const wanted: { one: One; has: number }[] = [];
  for (let nth = 0; nth < places[lane].endpoint; nth++) {
    for (const one of due) {
      if (!used.has(one.accountId)) continue;
      if ((byId.get(one.id) ?? 0) + nth >= places[lane].endpoint) continue;
      wanted.push({ one, has: has.get(one.accountId)! });
      has.set(one.accountId, has.get(one.accountId)! + 1);
    }
  }
  const given = new Map<One, number>();
  let left = most;
  for (const { one } of wanted.toSorted((a, b) => a.has - b.has)) {
    if (left === 0) break;
    if (!mayHaveMore(lane, then, one.accountId, used.get(one.accountId)!)) continue;
    count(then, one, 1);
    given.set(one, (given.get(one) ?? 0) + 1);
    left--;
  }
  return [...given].map(([one, room]) => ({ ...one, room }));
}
