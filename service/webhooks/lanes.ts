// Decides who is served when: three lanes of places, so that endpoints which hang, fail or flip
// delay only their like. Pure: the same facts give the same choice.
//
// The fast lane is earned by good answers in a row, and lost for minutes by the first bad one. In
// it a request has a place for a second, and goes on in one of the slow lane where its account may
// have one more there; else it stays, for the four seconds that are left of its time.
//
// An account may take another place while it has less than an eighth of what is free: the more
// accounts hold places the fewer each gets, and the last ones go to accounts that have none. New
// strangers used nothing yet, so two lanes have many places: of 256, a hundred accounts with ten
// endpoints each held all for seconds; of 1,024, a thousand accounts leave eight. A sixteenth kept
// for accounts without recent use was tried: beside a thousand one that answers in 1.2 s waited
// 4 s, since it uses some.

/** 0 fast; 1 slow but answering, or new; 2 failing. */
export type Lane = 0 | 1 | 2;

/** The loops of deliver.ts go by this. Tests put others here, to show what each part is for. */
export type Rule = {
  /** Requests under way at once: of all endpoints, and of one. */
  places: Record<Lane, { all: number; endpoint: number }>;
  standingAfter: typeof standingAfter;
  mayHaveMore: typeof mayHaveMore;
  mayGoOver: typeof mayGoOver;
  share: typeof share;
};

const places: Rule["places"] = {
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
export type LaneStanding = { lane: Lane; streak: number; barredUntilMs: number };

export const newStanding: LaneStanding = { lane: 1, streak: 0, barredUntilMs: 0 };

/** Computes an endpoint's standing after an answer. */
function standingAfter(
  { streak, barredUntilMs }: LaneStanding,
  { isTaken, latencyMs }: { isTaken: boolean; latencyMs: number },
  nowMs: number,
): LaneStanding {
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
function mayHaveMore(lane: Lane, underWay: UnderWay, accountId: string, used: number) {
  const free = places[lane].all - underWay.all;
  return (underWay.byId.get(accountId) ?? 0) + used < free * shareOfFree;
}

/**
 * Whether a request leaves the fast lane for the slow one after its second. Were it to leave in any
 * case, a hundred accounts that earn the fast lane and hang would have 3,800 requests in the 1,024
 * places of the slow one, where a slow endpoint then waits 8 s and a new one 5 s. Were it to leave
 * and to count nowhere, they would have 4,000 connections open at once, and delay nobody less.
 */
const mayGoOver = (slow: UnderWay, accountId: string, used: number) =>
  mayHaveMore(1, slow, accountId, used);

/** Moves a request that has had its second. @returns the lane that holds it now */
export function goOver(
  lanes: Record<Lane, UnderWay>,
  held: UnderWay,
  of: Due,
  used: number,
  rule: Rule,
): UnderWay {
  if (held !== lanes[0] || !rule.mayGoOver(lanes[1], of.accountId, used)) return held;
  count(held, of, -1);
  count(lanes[1], of, 1);
  return lanes[1];
}

/**
 * Shares the free places of a lane among the endpoints that are due: one at a time to the account
 * that has, with what it used lately, the fewest, and of its endpoints in the order given.
 *
 * @param most places to be given at once, by one commit for which others wait
 */
function share<One extends Due>(
  due: readonly One[],
  lane: Lane,
  { all, byId }: UnderWay,
  usedBy: (accountId: string) => number,
  most: number,
): (One & { room: number })[] {
  // An account that may have no place now may have none after others got theirs.
  const accounts = [...new Set(due.map(({ accountId }) => accountId))];
  const used = new Map(
    accounts
      .map((id) => [id, usedBy(id)] as const)
      .filter(([id, lately]) => mayHaveMore(lane, { all, byId }, id, lately)),
  );
  if (used.size === 0) return [];
  const then = { all, byId: new Map([...used.keys()].map((id) => [id, byId.get(id) ?? 0])) };
  const has = new Map([...used].map(([id, lately]) => [id, lately + (byId.get(id) ?? 0)]));
  const able = due.filter(({ accountId }) => used.has(accountId));
  const wanted: { one: One; has: number }[] = [];
  for (let nth = 0; nth < places[lane].endpoint; nth++) {
    for (const one of able) {
      if ((byId.get(one.id) ?? 0) + nth >= places[lane].endpoint) continue;
      const hasNow = has.get(one.accountId)!;
      wanted.push({ one, has: hasNow });
      has.set(one.accountId, hasNow + 1);
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

export const threeLanes: Rule = { places, standingAfter, mayHaveMore, mayGoOver, share };
