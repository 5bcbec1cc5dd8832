// Tests how the lanes protect a good endpoint from the endpoints of hostile accounts. The loop of
// this test distributes the free slots of each lane like deliver.ts, but uses a simulated clock and
// no database. There are 100 hostile accounts with 1,000 endpoints in total, or 1,000 hostile
// accounts with 2,000 endpoints. TESTS=long simulates each kind of hostile endpoint, and twelve
// random mixes, for 30 seconds each.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { isLong } from "../../scripts/long.ts";
import { quantile } from "../testing/median.ts";
import { inTurn, onePool } from "../testing/webhooks/one-pool.ts";
import { claimedMax } from "./deliver.ts";
import {
  allLanes,
  changeLane,
  count,
  fastLane,
  goodMsMax,
  type Lane,
  type LaneState,
  newLaneState,
  openLanes,
  recentUse,
  threeLanes,
} from "./lanes.ts";

/** Options for control tests, which show that endpoints wait too long if a rule is missing. */
const control = { skip: !isLong && "npm run test:long" };

/** A simulated response: its latency, and whether its status is 2xx. */
type Answer = { latencyMs: number; isTaken: boolean };
type Behaviour = (nth: number) => Answer;
type Endpoint = {
  id: string;
  accountId: string;
  laneState: LaneState;
  /** The creation times of the waiting deliveries, in milliseconds of simulated time. */
  waiting: number[];
  answer: Behaviour;
  served: number;
};

const good = { latencyMs: 30, isTaken: true };
const slow = { latencyMs: 1_200, isTaken: true };
const hangs = { latencyMs: 5_000, isTaken: false };
const behaviours: Record<string, Behaviour> = {
  hang: () => hangs,
  "hang one time in four": (nth) => (nth % 4 === 3 ? hangs : good),
  "hang every other time": (nth) => (nth % 2 === 0 ? good : hangs),
  "earn the fast lane, then hang": (nth) => (nth < 3 ? good : hangs),
  drip: () => ({ latencyMs: 4_900, isTaken: true }),
  "answer 500": () => ({ latencyMs: 20, isTaken: false }),
};

const endpoint = (id: string, accountId: string, answer: Behaviour): Endpoint => ({
  ...{ id, accountId, laneState: newLaneState, waiting: [], answer, served: 0 },
});

/** The duration of one iteration of the loops. In each iteration, each lane makes one commit. */
const stepMs = 10;

type Arrivals = { everyMs: number; count: number; fromMs?: number };

/**
 * Simulates the deliveries to `mine` and the `others`.
 *
 * @returns for each delivery to `mine`, the milliseconds until the response or the simulation's end
 */
function deliver(
  mine: Endpoint,
  arrivals: Arrivals,
  others: Endpoint[],
  rule = threeLanes,
): number[] {
  const { everyMs, fromMs = 0 } = arrivals;
  /**
   * The endpoints in the order of their turns. The endpoint that has waited longest comes first.
   */
  let turns = [mine, ...others];
  const use = recentUse();
  const lanes = openLanes();
  const later = new Map<number, (() => void)[]>();
  const at = (atMs: number, act: () => void) => {
    const step = Math.ceil(atMs / stepMs) * stepMs;
    later.set(step, [...(later.get(step) ?? []), act]);
  };
  const waits: number[] = [];
  const send = (one: Endpoint, lane: Lane, cameMs: number, nowMs: number) => {
    let held = lanes[lane];
    let isOver = false;
    count(held, one, 1);
    const answer = one.answer(one.served++);
    const overMs = nowMs + answer.latencyMs;
    for (let atMs = nowMs + goodMsMax; lane === fastLane && atMs < overMs; atMs += goodMsMax)
      at(atMs, () => {
        if (!isOver) held = changeLane(lanes, held, one, use.of(one.accountId, atMs), rule);
      });
    at(overMs, () => {
      isOver = true;
      count(held, one, -1);
      use.add(one.accountId, answer.latencyMs, overMs);
      one.laneState = rule.nextLaneState(one.laneState, answer, overMs);
      if (one === mine) waits.push(overMs - cameMs);
    });
  };
  const serve = (lane: Lane, nowMs: number) => {
    if (lanes[lane].all >= rule.slots[lane].all) return;
    const due = turns.filter(
      ({ laneState, waiting }) => laneState.lane === lane && waiting.length > 0,
    );
    const usedBy = (accountId: string) => use.of(accountId, nowMs);
    const shared = rule.share(due, rule.slots[lane], lanes[lane], usedBy, claimedMax);
    if (shared.length === 0) return;
    const rooms = new Map(shared.map(({ id, room }) => [id, room]));
    const served = due.filter(({ id }) => rooms.has(id));
    for (const one of served)
      for (const cameMs of one.waiting.splice(0, rooms.get(one.id)!))
        send(one, lane, cameMs, nowMs);
    turns = [...turns.filter(({ id }) => !rooms.has(id)), ...served];
  };
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs += stepMs) {
    for (const act of later.get(nowMs) ?? []) act();
    later.delete(nowMs);
    // The other accounts always have more events to deliver.
    for (const one of others) if (one.waiting.length < 8) one.waiting.push(nowMs);
    if (nowMs % everyMs === fromMs)
      for (let came = 0; came < arrivals.count; came++) mine.waiting.push(nowMs);
    for (const lane of allLanes) serve(lane, nowMs);
  }
  return [...waits, ...mine.waiting.map((cameMs) => seconds * 1000 - cameMs)];
}

const p99 = (waits: number[]) => quantile(waits, 0.99);
const crowd = (mix: readonly Behaviour[], accounts = 100, endpoints = 1_000) =>
  Array.from({ length: endpoints }, (_, i) =>
    endpoint(`e${i}`, `a${i % accounts}`, mix[i % mix.length]!),
  );

/** Returns an endpoint that always responds well and starts in the fast lane. */
const earned = () => ({
  ...endpoint("mine", "me", () => good),
  laneState: { lane: fastLane, streak: 3, barredUntilMs: 0 } as const,
});

const all = Object.values(behaviours);
/** A mix of all kinds of endpoints. */
const anyOfThese = all.flatMap((behaviour, i) => [behaviour, all[(i * 3 + 1) % all.length]!]);
const mixes: [string, readonly Behaviour[]][] = [
  ["earn the fast lane, then hang", [behaviours["earn the fast lane, then hang"]!]],
  ["behave in mixed ways", anyOfThese],
];
if (isLong) {
  const { "earn the fast lane, then hang": _, ...others } = behaviours;
  for (const [name, one] of Object.entries(others)) mixes.push([name, [one]]);
  for (let drawn = 1; drawn <= 12; drawn++) {
    const drawnAt = (i: number) => createHash("sha256").update(`${drawn} ${i}`).digest()[0]!;
    const mix = Array.from({ length: 37 }, (_, i) => all[drawnAt(i) % all.length]!);
    mixes.push([`are random mix ${drawn}`, mix]);
  }
}
const seconds = isLong ? 30 : 20;

describe("the webhook lanes with 1,000 hostile endpoints of 100 accounts", () => {
  for (const [name, mix] of mixes) {
    for (const [kind, arrivals] of [
      ["a good endpoint with 1 event per 0.5 s", { everyMs: 500, count: 1 }],
      ["a good endpoint with 20 events per 5 s", { everyMs: 5_000, count: 20 }],
    ] as const)
      test(`give ${kind} at most twice its usual p99 delay if hostile endpoints ${name}`, () => {
        const alone = p99(deliver(earned(), arrivals, []));
        const beside = deliver(earned(), arrivals, crowd(mix));
        assert.ok(beside.length >= (seconds * 1_900 * arrivals.count) / arrivals.everyMs / 2);
        assert.ok(p99(beside) <= 2 * alone, `${p99(beside)} ms, alone ${alone} ms`);
      });

    test(`serve a slow endpoint within 3 s if the hostile endpoints ${name}`, () => {
      for (const fromMs of [0, 500, 1_000, 1_500]) {
        const mine = endpoint("mine", "me", () => slow);
        const waits = deliver(mine, { everyMs: 2_000, count: 1, fromMs }, crowd(mix));
        assert.ok(waits.length >= seconds / 2 - 1);
        assert.ok(Math.max(...waits) <= 3_000, `from ${fromMs} ms: ${Math.max(...waits)} ms`);
      }
    });

    test(`serve a new endpoint within 3 s if the hostile endpoints ${name}`, () => {
      for (const fromMs of [700, 1_900, 3_100, 4_300]) {
        const mine = endpoint("mine", "me", () => good);
        const waits = deliver(mine, { everyMs: 10_000, count: 1, fromMs }, crowd(mix));
        assert.ok(waits.length >= seconds / 10 - 1);
        assert.ok(Math.max(...waits) <= 3_000, `from ${fromMs} ms: ${Math.max(...waits)} ms`);
      }
    });
  }
});

/**
 * Each function returns the longest time that a delivery to one kind of endpoint takes. The `good`
 * endpoint starts in the fast lane.
 */
const longest = {
  good: (others: Endpoint[], rule = threeLanes) =>
    Math.max(...deliver(earned(), { everyMs: 500, count: 1 }, others, rule)),
  slow(others: Endpoint[], rule = threeLanes) {
    const mine = endpoint("mine", "me", () => slow);
    return Math.max(...deliver(mine, { everyMs: 2_000, count: 1, fromMs: 500 }, others, rule));
  },
  fresh(others: Endpoint[], rule = threeLanes) {
    const mine = endpoint("mine", "me", () => good);
    return Math.max(...deliver(mine, { everyMs: 5_000, count: 1, fromMs: 1_900 }, others, rule));
  },
};
const kinds = ["good", "slow", "fresh"] as const;

describe("the rules that limit the slots of each account", () => {
  const isWithin = { good: (ms: number) => ms <= 2 * good.latencyMs, slow: isSoon, fresh: isSoon };
  function isSoon(ms: number) {
    return ms <= 3_000;
  }

  for (const kind of kinds)
    test(`control: without the rules, a ${kind} endpoint waits too long`, control, () => {
      const waitMs = longest[kind](crowd(anyOfThese), onePool);
      assert.ok(!isWithin[kind](waitMs), `${waitMs} ms`);
    });

  for (const kind of ["slow", "fresh"] as const)
    test(
      `control: ${kind} endpoints wait too long if other endpoints switch lanes freely`,
      control,
      () => {
        const hanging = crowd([behaviours["earn the fast lane, then hang"]!]);
        const waitMs = longest[kind](hanging, { ...threeLanes, mayChangeLane: () => true });
        assert.ok(!isWithin[kind](waitMs), `${waitMs} ms`);
      },
    );

  /**
   * Returns two endpoints for each of a thousand accounts. Their requests would need more slots
   * than the lane has.
   */
  const thousand = () => crowd([behaviours.drip!], 1_000, 2_000);

  for (const kind of kinds)
    test(`leave slots for a ${kind} endpoint if 1,000 accounts have one slot each`, () => {
      const waitMs = longest[kind](thousand());
      assert.ok(isWithin[kind](waitMs), `${waitMs} ms`);
    });

  test(
    "control: 1,100 accounts make a good endpoint wait 4.5 s, as SECURITY.md states",
    control,
    () => {
      const waitMs = longest.good(
        crowd([behaviours["earn the fast lane, then hang"]!], 1_100, 1_100),
      );
      assert.ok(Math.abs(waitMs - 4_500) < 50, `${waitMs} ms`);
    },
  );

  test(
    "control: without fair shares, 1,000 accounts leave no slot for a new endpoint",
    control,
    () => {
      const unfair = { ...threeLanes, mayHaveMore: () => true, share: inTurn };
      const waitMs = longest.fresh(thousand(), unfair);
      assert.ok(!isSoon(waitMs), `${waitMs} ms`);
    },
  );
});
