// Decides when each delivery is sent. A pending request occupies a slot, and there are three lanes
// with a limited number of slots each. So endpoints that hang, that fail, or that alternate between
// failure and success delay only similar endpoints.
//
// An endpoint enters the fast lane after several good responses in a row. After a bad response, it
// leaves the fast lane for some minutes. After one second, a request moves from the fast lane to a
// slot of the slow lane. If its account may not occupy another slot there, the request stays in the
// fast lane, and the move is tried again each second.
//
// An account's load is the number of slots that it occupies, plus the average number of slots that
// it occupied recently. The account may take another slot while its load is less than an eighth of
// the free slots. So the more accounts occupy slots, the fewer slots each account gets, and the
// last slots go to accounts that have none.
//
// New accounts have no recent use, so the fast and the slow lane need many slots. With 256 slots, a
// hundred accounts with ten endpoints each occupied all slots for seconds. With 1,024 slots, even a
// thousand accounts leave eight slots free. It was not enough to reserve a sixteenth of the slots
// for accounts without recent use. While a thousand other accounts were active, an endpoint that
// responds in 1.2 s waited 4 s, because its own account has some recent use. lanes.test.ts
// simulates the hundred and the thousand accounts.

/**
 * 0 is the fast lane, 1 is the slow lane, for new endpoints and for endpoints that respond slowly,
 * and 2 is the lane of failing endpoints.
 */
export type Lane = 0 | 1 | 2;

/**
 * The rules that deliver.ts applies. They have no side effects. Tests replace single rules, to show
 * their effects.
 */
export type Rule = {
  /**
   * The number of slots of each lane: the maximum number of pending requests, in total and per
   * endpoint.
   */
  places: Record<Lane, { all: number; endpoint: number }>;
  standingAfter: typeof standingAfter;
  mayHaveMore: typeof mayHaveMore;
  mayChangeLane: typeof mayChangeLane;
  share: typeof share;
};

const places: Rule["places"] = {
  0: { all: 1_024, endpoint: 4 },
  1: { all: 1_024, endpoint: 1 },
  2: { all: 64, endpoint: 1 },
};
/**
 * The maximum load of an account, as a share of the free slots. With this share, a hundred accounts
 * whose endpoints hang leave 76 of 1,024 slots free.
 */
const shareOfFree = 1 / 8;
/**
 * A 2xx response within this time is good. A request that takes longer can move out of the fast
 * lane.
 */
export const goodMsMax = 1_000;
/** The number of consecutive good responses after which an endpoint enters the fast lane. */
const goodToEarn = 3;
/** The time for which a bad response keeps an endpoint out of the fast lane: 5 minutes. */
const barredMs = 300_000;

/**
 * The standing of an endpoint: its lane, and the values from which its next lane is computed.
 * `streak` is the number of consecutive good responses. If it is negative, it counts consecutive
 * failures.
 */
export type LaneStanding = { lane: Lane; streak: number; barredUntilMs: number };

export const newStanding: LaneStanding = { lane: 1, streak: 0, barredUntilMs: 0 };

/** Returns the endpoint's standing after a response or a failure. */
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

/** The number of pending requests in a lane, in total, per endpoint, and per account. */
export type InProgress = { all: number; byId: Map<string, number> };

export const noneInProgress = (): InProgress => ({ all: 0, byId: new Map() });

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
 * Tracks the average number of slots that each account occupied recently. Older use counts less,
 * with a half-life of one minute.
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
function mayHaveMore(lane: Lane, inProgress: InProgress, accountId: string, used: number): boolean {
  return isWithinShare(
    (inProgress.byId.get(accountId) ?? 0) + used,
    places[lane].all - inProgress.all,
  );
}

/**
 * @param load the number of slots that the account occupies, plus the average number that it
 *   occupied recently
 */
const isWithinShare = (load: number, free: number) => load < free * shareOfFree;

/**
 * Returns whether a request may move from the fast lane to the slow lane. Assume that a hundred
 * accounts have endpoints that enter the fast lane and then hang. If all their requests moved, the
 * slow lane would have 3,800 requests for its 1,024 slots. A slow endpoint would then wait 8 s, and
 * a new endpoint 5 s. If moved requests did not count as requests of the slow lane, the accounts
 * would have 4,000 open connections, and other endpoints would wait equally long.
 */
const mayChangeLane = (slow: InProgress, accountId: string, used: number) =>
  mayHaveMore(1, slow, accountId, used);

/**
 * Moves a request from the fast lane to the slow lane, if it may move. Called every second.
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
  if (held !== lanes[0] || !rule.mayChangeLane(lanes[1], of.accountId, used)) return held;
  count(held, of, -1);
  count(lanes[1], of, 1);
  return lanes[1];
}

/**
 * Distributes the free slots of a lane among the endpoints that are due. Each slot goes to the
 * account with the smallest load, and within this account to the endpoint whose turn it is.
 *
 * @param due the due endpoints, in the order in which each account's endpoints take turns
 * @param most the maximum number of slots to distribute; the deliveries are claimed in one commit,
 *   for which other statements wait
 * @returns the endpoints that got slots; `room` is their number of slots
 */
function share<One extends Due>(
  due: readonly One[],
  lane: Lane,
  { all, byId }: InProgress,
  usedBy: (accountId: string) => number,
  most: number,
): (One & { room: number })[] {
  const given = new Map<One, number>();
  const hasRoom = (one: One) =>
    (byId.get(one.id) ?? 0) + (given.get(one) ?? 0) < places[lane].endpoint;
  const accounts = [...Map.groupBy(due.filter(hasRoom), ({ accountId }) => accountId)].map(
    ([id, turns]) => ({ load: (byId.get(id) ?? 0) + usedBy(id), turns }),
  );
  let free = places[lane].all - all;
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
 * Returns the account with the smallest load. Ignores accounts that have no endpoint left to serve.
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

export const threeLanes: Rule = { places, standingAfter, mayHaveMore, mayChangeLane, share };
