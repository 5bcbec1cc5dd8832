import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { type Decision, decide, type Facts } from "./decide.ts";

const token: Hex = `0x${"aa".repeat(20)}`;
const other: Hex = `0x${"bb".repeat(20)}`;
const priced: Hex = `0x${"cc".repeat(20)}`;
/** A look-alike, which is worth returning from 50 on. */
const similar: Hex = `0x${"dd".repeat(20)}`;
const native: Hex = `0x${"00".repeat(20)}`;
const expiry = 1000;

/** An open, funded, cheap, and new address, which is executed. Each row changes some facts. */
const plain: Facts = {
  wanted: { chainId: 1, token, amount: 100n, expirationSeconds: expiry },
  chain: { chainId: 1, timeSeconds: 500 },
  vault: { hasCode: false, balances: new Map([[token, 100n]]) },
  history: { paidFailures: 0, recoveryFailures: 0, recoveriesToday: 0, notBeforeSeconds: 0 },
  fees: { perGas: 10n, perGasMax: 20n, recovery: 500_000n },
  policy: {
    recoverMin: new Map([[other, 50n]]),
    lookalikes: new Map([[similar, 50n]]),
    convertToWei: (of, amount) => (of === priced ? amount * 1000n : undefined),
    paidFailuresMax: 3,
    recoveryFailuresMax: 5,
    recoveriesPerDayMax: 3,
  },
};

type Change = { [Key in keyof Facts]?: Partial<Facts[Key]> };

const given = (change: Change): Facts => ({
  wanted: { ...plain.wanted, ...change.wanted },
  chain: { ...plain.chain, ...change.chain },
  vault: { ...plain.vault, ...change.vault },
  history: { ...plain.history, ...change.history },
  fees: { ...plain.fees, ...change.fees },
  policy: { ...plain.policy, ...change.policy },
});

const holding = (...held: [Hex, bigint][]) => ({ balances: new Map(held) });
const over = { hasCode: true };
const wait = (reason: string, untilSeconds: number | null) =>
  ({ action: "wait", reason, untilSeconds }) as Decision;
const recover = (...tokens: Hex[]): Decision => ({ action: "recover", tokens });
const execute: Decision = { action: "execute" };
const giveUp = (reason: string) => ({ action: "give_up", reason }) as Decision;

const rows: [title: string, change: Change, decision: Decision][] = [
  ["open and funded: execute", {}, execute],
  ["open and more than funded: execute", { vault: holding([token, 101n]) }, execute],
  ["in the very second of expiry: execute", { chain: { timeSeconds: expiry } }, execute],
  ["a second later: recover", { chain: { timeSeconds: expiry + 1 } }, recover(token)],
  [
    "one unit short: wait for it until expiry",
    { vault: holding([token, 99n]) },
    wait("underfunded", expiry + 1),
  ],
  [
    "open, the wrong token: wait until expiry",
    { vault: holding([other, 500n]) },
    wait("underfunded", expiry + 1),
  ],
  [
    "open, native coin alone: wait until expiry",
    { vault: holding([native, 1n]) },
    wait("underfunded", expiry + 1),
  ],
  ["open and empty: wait for money", { vault: holding() }, wait("nothing_there", null)],
  ["fees over the cap: wait", { fees: { perGas: 21n } }, wait("fees_over_cap", 515)],
  ["fees at the cap: execute", { fees: { perGas: 20n } }, execute],
  ["in backoff: wait for its end", { history: { notBeforeSeconds: 600 } }, wait("backoff", 600)],
  [
    "backoff past expiry: wait for expiry",
    { history: { notBeforeSeconds: 5000 } },
    wait("backoff", expiry + 1),
  ],
  [
    "fees over the cap near expiry: no longer than expiry",
    { fees: { perGas: 21n }, chain: { timeSeconds: 995 } },
    wait("fees_over_cap", expiry + 1),
  ],
  [
    "failed on chain too often: wait for expiry",
    { history: { paidFailures: 3 } },
    wait("execution_keeps_failing", expiry + 1),
  ],
  [
    "failed on chain too often, then expired: recover",
    { history: { paidFailures: 3 }, chain: { timeSeconds: 1001 } },
    recover(token),
  ],
  ["another chain's intent: recover immediately", { chain: { chainId: 2 } }, recover(token)],
  [
    "another chain's intent, empty: wait for money",
    { chain: { chainId: 2 }, vault: holding() },
    wait("nothing_there", null),
  ],
  [
    "over and empty: wait for money",
    { vault: { ...over, ...holding([token, 0n]) } },
    wait("nothing_there", null),
  ],
  [
    "over with a surplus: recover it",
    { vault: { ...over, ...holding([token, 1n]) } },
    recover(token),
  ],
  [
    "over with several tokens: recover those worth it",
    { vault: { ...over, ...holding([token, 1n], [other, 49n], [native, 2n]) } },
    recover(token, native),
  ],
  [
    "over with too little of a token: give up",
    { vault: { ...over, ...holding([other, 49n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "over with native coin alone that pays less than its gas: give up",
    { vault: { ...over, ...holding([native, 499_999n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "over with native coin alone that pays its gas: recover it",
    { vault: { ...over, ...holding([native, 500_000n]) } },
    recover(native),
  ],
  [
    "over with native coin and too little of a token: recover the coin alone",
    { vault: { ...over, ...holding([other, 49n], [native, 500_000n]) } },
    recover(native),
  ],
  [
    "over with just enough of it: recover",
    { vault: { ...over, ...holding([other, 50n]) } },
    recover(other),
  ],
  [
    "expired and underfunded: recover what is there",
    { chain: { timeSeconds: 1001 }, vault: holding([token, 99n]) },
    recover(token),
  ],
  [
    "open, its own token is listed as a look-alike: execute",
    { wanted: { token: similar }, vault: holding([similar, 100n]) },
    execute,
  ],
  [
    "over, its own token is listed as a look-alike and failed twice: recover it",
    {
      ...{ wanted: { token: similar }, vault: { ...over, ...holding([similar, 1n]) } },
      history: { recoveryFailures: 2 },
    },
    recover(similar),
  ],
  [
    "over, on another chain than the intent's, its token is a look-alike: as such",
    {
      ...{ wanted: { token: similar }, chain: { chainId: 2 }, vault: holding([similar, 1n]) },
      history: { recoveryFailures: 2 },
    },
    giveUp("recovery_keeps_failing"),
  ],
  [
    "open, a look-alike alone: wait until expiry",
    { vault: holding([similar, 500n]) },
    wait("underfunded", expiry + 1),
  ],
  [
    "open, a look-alike beside the amount: execute",
    { vault: holding([token, 100n], [similar, 9n]) },
    execute,
  ],
  [
    "over with a look-alike that is worth it: recover it",
    { vault: { ...over, ...holding([similar, 50n]) } },
    recover(similar),
  ],
  [
    "over with less of a look-alike: give up",
    { vault: { ...over, ...holding([similar, 49n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "over with any amount of a look-alike, returned three times today: wait for tomorrow",
    { vault: { ...over, ...holding([similar, 2n ** 255n]) }, history: { recoveriesToday: 3 } },
    wait("recoveries_of_today_spent", 86_400),
  ],
  [
    "over with a look-alike and a surplus, whose recovery failed twice: recover the surplus",
    {
      vault: { ...over, ...holding([token, 1n], [similar, 2n ** 255n]) },
      history: { recoveryFailures: 2 },
    },
    recover(token),
  ],
  [
    "over with a look-alike alone, whose recovery failed twice: give up",
    { vault: { ...over, ...holding([similar, 2n ** 255n]) }, history: { recoveryFailures: 2 } },
    giveUp("recovery_keeps_failing"),
  ],
  [
    "recovery failed too often: give up",
    { vault: over, history: { recoveryFailures: 5 } },
    giveUp("recovery_keeps_failing"),
  ],
  [
    "over, fees over the cap: wait",
    { vault: over, fees: { perGas: 21n } },
    wait("fees_over_cap", 515),
  ],
  [
    "over, returned three times today, and less than twice what it must be: wait for tomorrow",
    { vault: { ...over, ...holding([priced, 999n]) }, history: { recoveriesToday: 3 } },
    wait("recoveries_of_today_spent", 86_400),
  ],
  [
    "over, returned three times today by strangers' dust, and worth it: recover",
    { vault: { ...over, ...holding([priced, 1000n]) }, history: { recoveriesToday: 3 } },
    recover(priced),
  ],
  [
    "over with a priced token that is worth less than its gas: give up",
    { vault: { ...over, ...holding([priced, 499n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "over with a priced token that is worth its gas: recover it",
    { vault: { ...over, ...holding([priced, 500n]) } },
    recover(priced),
  ],
  [
    "over, in backoff: wait for its end",
    { vault: over, history: { notBeforeSeconds: 900 } },
    wait("backoff", 900),
  ],
];

describe("decide", () => {
  for (const [title, change, decision] of rows) {
    test(title, () => assert.deepEqual(decide(given(change)), decision));
  }

  test("decides every combination, and executes only open and funded addresses", () => {
    let count = 0;
    const options = {
      hasCode: [false, true],
      chainId: [1, 2],
      timeSeconds: [expiry - 1, expiry, expiry + 1],
      held: [0n, 1n, 99n, 100n, 101n],
      perGas: [10n, 21n],
      notBeforeSeconds: [0, expiry + 500],
      paidFailures: [0, 3],
      recoveryFailures: [0, 5],
    };
    for (const row of product(options)) {
      const facts = given({
        vault: { hasCode: row.hasCode, ...holding([token, row.held]) },
        chain: { chainId: row.chainId, timeSeconds: row.timeSeconds },
        fees: { perGas: row.perGas },
        history: row,
      });
      const decision = decide(facts);
      const isOpen = !row.hasCode && row.chainId === 1 && row.timeSeconds <= expiry;
      if (decision.action === "execute") assert.ok(isOpen && row.held >= 100n);
      if (decision.action === "recover") assert.ok(!isOpen && row.held > 0n);
      if (decision.action === "wait" && decision.untilSeconds !== null) {
        assert.ok(decision.untilSeconds > row.timeSeconds, "a wait ends later than now");
      }
      const mayPay = row.perGas <= 20n;
      if (decision.action === "execute" || decision.action === "recover") assert.ok(mayPay);
      count++;
    }
    assert.equal(count, 2 * 2 * 3 * 5 * 2 * 2 * 2 * 2);
  });
});

/** Returns every combination of one value for each name. */
function* product<Options extends Record<string, readonly unknown[]>>(
  options: Options,
): Generator<{ [Key in keyof Options]: Options[Key][number] }> {
  const [[name, values], ...rest] = Object.entries(options) as [[string, unknown[]]];
  for (const value of values) {
    if (rest.length === 0) yield { [name]: value } as never;
    else
      for (const more of product(Object.fromEntries(rest)))
        yield { [name]: value, ...more } as never;
  }
}
