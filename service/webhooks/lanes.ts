// Decides when each delivery is sent. There are three lanes, each with a limited number of slots. A
// pending request occupies a slot of its lane. So an endpoint that hangs or fails, even
// occasionally, delays only similar endpoints.
//
// An endpoint enters the fast lane after several consecutive good responses. A bad response
// excludes the endpoint from the fast lane for some minutes. After one second, a request moves to
// the slow lane, and occupies a slot there. If the account must not take another slot there, the
// request stays in the fast lane. Each second, the service tries again to move the request.
//
// The load of an account is its number of slots now, plus its recent average number of slots. The
// account may take another slot if its load is below an eighth of the free slots. So each account
// gets fewer slots if more accounts occupy slots. If at most eight slots are free, only accounts
// with a load below 1 may take one.
//
// The fast and the slow lane have 1,024 slots each, so at least eight slots remain free, even if a
// thousand accounts use their shares. Reserving some slots for accounts without recent load would
// not help a slow endpoint whose account has recent load. lanes.test.ts simulates a hundred other
// accounts, and also a thousand.

// The database stores the number of an endpoint's lane.
export const fastLane = 0;
/** The lane for slow and new endpoints. */
const slowLane = 1;
/** The lane for failing endpoints. */
export const failingLane = 2;
export const allLanes = [fastLane, slowLane, failingLane] as const;
export type Lane = (typeof allLanes)[number];

/** The maximum number of a lane's pending requests, in total and per endpoint. */
type Slots = { all: number; endpoint: number };

/**
 * The rules that deliver.ts applies. The rules are functions without side effects. Control tests
 * replace rules with other rules, to show that the rules are necessary.
 */
export type Rule = {
  slots: Record<Lane, Slots>;
  nextLaneState: typeof nextLaneState;
  mayHaveMore: typeof mayHaveMore;
  mayChangeLane: typeof mayChangeLane;
  share: typeof share;
};

/**
 * The maximum load of an account, as a share of the free slots. With this value, 76 of 1,024 slots
 * remain free if the endpoints of a hundred accounts hang.
 */
const shareOfFree = 1 / 8;
/**
 * The maximum latency of a good response, which also has a 2xx status. A request that takes longer
 * can move to the slow lane.
 */
export const goodMsMax = 1_000;
/** The number of consecutive good responses after which an endpoint enters the fast lane. */
const goodToEarn = 3;
/** How long an endpoint cannot enter the fast lane after a bad response (5 minutes). */
const barredMs = 300_000;

/**
 * The state of an endpoint: its lane, and the values that decide its next lane. `streak` is the
 * number of consecutive good responses. A negative number counts consecutive failures.
 */
export type LaneState = { lane: Lane; streak: number; barredUntilMs: number };

export const newLaneState: LaneState = { lane: slowLane, streak: 0, barredUntilMs: 0 };

/** Returns the endpoint's state after a response or a failure. */
function nextLaneState(
  { streak, barredUntilMs }: LaneState,
  { isTaken, latencyMs }: { isTaken: boolean; latencyMs: number },
  nowMs: number,
): LaneState {
  if (!isTaken) {
    return { lane: failingLane, streak: Math.min(0, streak) - 1, barredUntilMs: nowMs + barredMs };
  }
  if (latencyMs > goodMsMax) return { lane: slowLane, streak: 0, barredUntilMs: nowMs + barredMs };
  const good = Math.max(0, streak) + 1;
  const isEarned = good >= goodToEarn && nowMs >= barredUntilMs;
  return { lane: isEarned ? fastLane : slowLane, streak: good, barredUntilMs };
}

/** The number of pending requests in a lane, in total and for each endpoint and account. */
export type InProgress = { all: number; byId: Map<string, number> };

const noneInProgress = (): InProgress => ({ all: 0, byId: new Map() });

/** Returns lanes without pending requests. */
export const openLanes = (): Record<Lane, InProgress> => ({
  [fastLane]: noneInProgress(),
  [slowLane]: noneInProgress(),
  [failingLane]: noneInProgress(),
});

export type Due = { id: string; accountId: string };

export function count(inProgress: InProgress, { id, accountId }: Due, by: 1 | -1): void {
  inProgress.all += by;
  for (const key of [id, accountId]) {
    const counted = (inProgress.byId.get(key) ?? 0) + by;
    if (counted > 0) inProgress.byId.set(key, counted);
    else inProgress.byId.delete(key);
  }
}

/**
 * Tracks the average number of slots that each account occupied recently. The weight of older
 * values has a half-life of one minute.
 */
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

/**
 * Returns whether an account may occupy another slot of the lane.
 *
 * @param used the average number of slots that the account occupied recently
 */
function mayHaveMore(slots: Slots, { all, byId }: InProgress, accountId: string, used: number) {
  return isWithinShare((byId.get(accountId) ?? 0) + used, slots.all - all);
}

/**
 * @param load the number of slots that the account uses now, plus the average number that it used
 *   recently
 */
const isWithinShare = (load: number, free: number) => load < free * shareOfFree;

/**
 * Returns whether a request may move from the fast lane to the slow lane. Without this rule, a
 * hundred accounts could overload the slow lane. Their endpoints would respond quickly until they
 * are in the fast lane, and then hang. All their requests would then move to the slow lane, so slow
 * and new endpoints would wait more than 3 s (lanes.test.ts, "if others switch lanes freely").
 * A moved request occupies a slot of the slow lane. Otherwise, nothing would limit the number of
 * moved requests.
 */
const mayChangeLane = (slots: Slots, slow: InProgress, accountId: string, used: number) =>
  mayHaveMore(slots, slow, accountId, used);

/**
 * Moves a request from the fast lane to the slow lane if the rule allows it. Called every second.
 *
 * @returns the lane that the request is in now
 */
export function changeLane(
  lanes: Record<Lane, InProgress>,
  held: InProgress,
  of: Due,
  used: number,
  rule: Rule,
): InProgress {
  const slow = lanes[slowLane];
  if (held !== lanes[fastLane]) return held;
  if (!rule.mayChangeLane(rule.slots[slowLane], slow, of.accountId, used)) return held;
  count(held, of, -1);
  count(slow, of, 1);
  return slow;
}

/**
 * Assigns the free slots of a lane to the endpoints that are due. Each slot goes to the account
 * with the smallest load. Within an account, the endpoints take turns.
 *
 * @param due the due endpoints; each account's endpoints are in the order of their turns
 * @param most the maximum number of slots to assign. A limit is necessary because other statements
 * wait for the commit that claims the deliveries.
 * @returns the endpoints that got slots; `room` is their number of slots
 */
function share<One extends Due>(
  due: readonly One[],
  slots: Slots,
  { all, byId }: InProgress,
  usedBy: (accountId: string) => number,
  most: number,
): (One & { room: number })[] {
  const given = new Map<One, number>();
  const hasRoom = (one: One) => (byId.get(one.id) ?? 0) + (given.get(one) ?? 0) < slots.endpoint;
  const accounts = [...Map.groupBy(due.filter(hasRoom), ({ accountId }) => accountId)].map(
    ([id, turns]) => ({ load: (byId.get(id) ?? 0) + usedBy(id), turns }),
  );
  let free = slots.all - all;
  for (let count = 0; count < most; count++) {
    const next = leastLoaded(accounts);
    if (!next || !isWithinShare(next.load, free)) break;
    const one = next.turns.shift()!;
    given.set(one, (given.get(one) ?? 0) + 1);
    if (hasRoom(one)) next.turns.push(one);
    next.load++;
    free--;
  }
  return [...given].map(([one, room]) => ({ ...one, room }));
}

/**
 * Returns the account with the smallest load, if any. Ignores an account if each of its due
 * endpoints already has the maximum number of slots.
 */
function leastLoaded<Account extends { load: number; turns: unknown[] }>(
  accounts: readonly Account[],
): Account | undefined {
  let least: Account | undefined;
  for (const account of accounts) {
    if (account.turns.length === 0) continue;
    if (!least || account.load < least.load) least = account;
  }
  return least;
}

export const threeLanes: Rule = {
  slots: {
    [fastLane]: { all: 1_024, endpoint: 4 },
    [slowLane]: { all: 1_024, endpoint: 1 },
    [failingLane]: { all: 64, endpoint: 1 },
  },
  ...{ nextLaneState, mayHaveMore, mayChangeLane, share },
};
