// The lanes against 1,000 endpoints of 100 adversarial accounts, on a clock of the test's own. It
// stands for the loops of deliver.ts: each turn a lane with room shares it. ATTACKS=long: each kind
// alone and twelve drawn mixes, for 30 seconds each.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import {
  count,
  goodMsMax,
  type Lane,
  mayHaveMore,
  newStanding,
  noneUnderWay,
  recentUse,
  type Standing,
  share,
  standingAfter,
} from "./lanes.ts";

const isLong = process.env.ATTACKS === "long";

/** How long an answer takes, and whether it is 2xx. */
type Answer = { latencyMs: number; isTaken: boolean };
type Behaviour = (nth: number) => Answer;
type Endpoint = {
  id: string;
  accountId: string;
  standing: Standing;
  /** When each waiting delivery came. */
  waiting: number[];
  /** When it was last served. */
  turn: number;
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
  ...{ id, accountId, standing: newStanding, waiting: [], turn: 0, answer, served: 0 },
});

/** One turn of a loop, which a commit takes. */
const stepMs = 10;
const claimedMax = 16;

type Arrivals = { everyMs: number; count: number; fromMs?: number };

/** @returns milliseconds that each delivery of `mine` waited until its answer */
function deliver(mine: Endpoint, arrivals: Arrivals, others: Endpoint[]): number[] {
  const { everyMs, fromMs = 0 } = arrivals;
  const everybody = [mine, ...others];
  const use = recentUse();
  const lanes = { 0: noneUnderWay(), 1: noneUnderWay(), 2: noneUnderWay() };
  const later = new Map<number, (() => void)[]>();
  const at = (atMs: number, act: () => void) => {
    const step = Math.ceil(atMs / stepMs) * stepMs;
    later.set(step, [...(later.get(step) ?? []), act]);
  };
  const waits: number[] = [];
  const send = (one: Endpoint, lane: Lane, cameMs: number, nowMs: number) => {
    let held = lanes[lane];
    count(held, one, 1);
    const answer = one.answer(one.served++);
    const overMs = nowMs + answer.latencyMs;
    for (let atMs = nowMs + goodMsMax; lane === 0 && atMs < overMs; atMs += goodMsMax)
      at(atMs, () => {
        const used = use.of(one.accountId, atMs);
        if (held !== lanes[0] || !mayHaveMore(1, lanes[1], one.accountId, used)) return;
        count(held, one, -1);
        held = lanes[1];
        count(held, one, 1);
      });
    at(overMs, () => {
      count(held, one, -1);
      use.add(one.accountId, answer.latencyMs, overMs);
      one.standing = standingAfter(one.standing, answer, overMs);
      if (one === mine) waits.push(overMs - cameMs);
    });
  };
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs += stepMs) {
    for (const act of later.get(nowMs) ?? []) act();
    later.delete(nowMs);
    // Strangers never run out of events to be told of.
    for (const one of others) if (one.waiting.length < 8) one.waiting.push(nowMs);
    if (nowMs % everyMs === fromMs)
      for (let came = 0; came < arrivals.count; came++) mine.waiting.push(nowMs);
    for (const lane of [0, 1, 2] as const) {
      const due = everybody
        .filter(({ standing, waiting }) => standing.lane === lane && waiting.length > 0)
        .toSorted((a, b) => a.turn - b.turn);
      const usedBy = (accountId: string) => use.of(accountId, nowMs);
      for (const { room, ...same } of share(due, lane, lanes[lane], usedBy, claimedMax)) {
        const one = due.find(({ id }) => id === same.id)!;
        one.turn = nowMs;
        for (const cameMs of one.waiting.splice(0, room)) send(one, lane, cameMs, nowMs);
      }
    }
  }
  return waits;
}

const p99 = (waits: number[]) => waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)]!;
const crowd = (mix: readonly Behaviour[]) =>
  Array.from({ length: 1_000 }, (_, i) => endpoint(`e${i}`, `a${i % 100}`, mix[i % mix.length]!));

/** A good endpoint has earned its lane before the strangers come. */
const earned = () => ({
  ...endpoint("mine", "me", () => good),
  standing: { lane: 0, streak: 3, barredUntilMs: 0 } as const,
});

const all = Object.values(behaviours);
/** A shuffle of them, such that an account has every kind. */
const anyOfThese = all.flatMap((behaviour, i) => [behaviour, all[(i * 3 + 1) % all.length]!]);
const mixes: [string, readonly Behaviour[]][] = [
  ["earn the fast lane, then hang", [behaviours["earn the fast lane, then hang"]!]],
  ["do any of these", anyOfThese],
];
if (isLong) {
  const { "earn the fast lane, then hang": _, ...others } = behaviours;
  for (const [name, one] of Object.entries(others)) mixes.push([name, [one]]);
  for (let drawn = 1; drawn <= 12; drawn++) {
    const drawnAt = (i: number) => createHash("sha256").update(`${drawn} ${i}`).digest()[0]!;
    const mix = Array.from({ length: 37 }, (_, i) => all[drawnAt(i) % all.length]!);
    mixes.push([`do what was drawn, ${drawn}`, mix]);
  }
}
const seconds = isLong ? 30 : 20;

describe("lanes, against 1,000 endpoints of 100 accounts", () => {
  for (const [name, mix] of mixes) {
    for (const [kind, arrivals] of [
      ["one in half a second", { everyMs: 500, count: 1 }],
      ["20 in five seconds", { everyMs: 5_000, count: 20 }],
    ] as const)
      test(`that ${name}: a good one, ${kind}: p99 at most twice that alone`, () => {
        const alone = p99(deliver(earned(), arrivals, []));
        const beside = deliver(earned(), arrivals, crowd(mix));
        assert.ok(beside.length >= (seconds * 1_900 * arrivals.count) / arrivals.everyMs / 2);
        assert.ok(p99(beside) <= 2 * alone, `${p99(beside)} ms, alone ${alone} ms`);
      });

    test(`that ${name}: one that takes 1.2 s: within 3 s, whenever it has news`, () => {
      for (const fromMs of [0, 500, 1_000, 1_500]) {
        const mine = endpoint("mine", "me", () => slow);
        const waits = deliver(mine, { everyMs: 2_000, count: 1, fromMs }, crowd(mix));
        assert.ok(waits.length >= seconds / 2 - 1);
        assert.ok(Math.max(...waits) <= 3_000, `from ${fromMs} ms: ${Math.max(...waits)} ms`);
      }
    });

    test(`that ${name}: a new one, within 3 s, whenever it comes`, () => {
      for (const fromMs of [700, 1_900, 3_100, 4_300]) {
        const mine = endpoint("mine", "me", () => good);
        const waits = deliver(mine, { everyMs: 10_000, count: 1, fromMs }, crowd(mix));
        assert.ok(waits.length >= seconds / 10 - 1);
        assert.ok(Math.max(...waits) <= 3_000, `from ${fromMs} ms: ${Math.max(...waits)} ms`);
      }
    });
  }
});
