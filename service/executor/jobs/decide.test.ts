import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { attemptLimits, type Decision, decide, type Facts } from "./decide.ts";

const token: Hex = `0x${"aa".repeat(20)}`;
const other: Hex = `0x${"bb".repeat(20)}`;
const priced: Hex = `0x${"cc".repeat(20)}`;
/** A look-alike token. The executor sends back only amounts of at least 50 base units. */
const similar: Hex = `0x${"dd".repeat(20)}`;
const native: Hex = `0x${"00".repeat(20)}`;
const expiry = 1000;

/**
 * An open and funded address without earlier attempts. The chain's fee is low. For this input,
 * `decide` returns an execution. Each row below changes some fields of the input.
 */
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
    ...attemptLimits,
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
  ["executes an open and funded address", {}, execute],
  [
    "executes an open address that has more than its amount",
    { vault: holding([token, 101n]) },
    execute,
  ],
  [
    "executes an open and funded address at its expiration time",
    { chain: { timeSeconds: expiry } },
    execute,
  ],
  [
    "recovers the money of a funded address one second after its expiration time",
    { chain: { timeSeconds: expiry + 1 } },
    recover(token),
  ],
  [
    "waits until the expiry if one base unit of the amount is missing",
    { vault: holding([token, 99n]) },
    wait("underfunded", expiry + 1),
  ],
  [
    "waits until the expiry if an open address has only the wrong token",
    { vault: holding([other, 500n]) },
    wait("underfunded", expiry + 1),
  ],
  [
    "waits until the expiry if an open address has only native coin",
    { vault: holding([native, 1n]) },
    wait("underfunded", expiry + 1),
  ],
  [
    "waits for money if an open address is empty",
    { vault: holding() },
    wait("nothing_there", null),
  ],
  [
    "waits for 15 seconds if the fees are over the cap",
    { fees: { perGas: 21n } },
    wait("fees_over_cap", 515),
  ],
  ["executes if the fees are at the cap", { fees: { perGas: 20n } }, execute],
  ["waits for the end of a backoff", { history: { notBeforeSeconds: 600 } }, wait("backoff", 600)],
  [
    "waits only until the expiry if the backoff ends later",
    { history: { notBeforeSeconds: 5000 } },
    wait("backoff", expiry + 1),
  ],
  [
    "waits only until the expiry if the fees are over the cap",
    { fees: { perGas: 21n }, chain: { timeSeconds: 995 } },
    wait("fees_over_cap", expiry + 1),
  ],
  [
    "waits until the expiry after too many failures on chain",
    { history: { paidFailures: 3 } },
    wait("execution_keeps_failing", expiry + 1),
  ],
  [
    "recovers after the expiry, despite too many failed executions",
    { history: { paidFailures: 3 }, chain: { timeSeconds: 1001 } },
    recover(token),
  ],
  [
    "immediately recovers the money of a different chain's intent",
    { chain: { chainId: 2 } },
    recover(token),
  ],
  [
    "waits for money if the address of a different chain's intent is empty",
    { chain: { chainId: 2 }, vault: holding() },
    wait("nothing_there", null),
  ],
  [
    "waits for money if a closed address is empty",
    { vault: { ...over, ...holding([token, 0n]) } },
    wait("nothing_there", null),
  ],
  [
    "recovers the surplus of an executed address",
    { vault: { ...over, ...holding([token, 1n]) } },
    recover(token),
  ],
  [
    "recovers only the tokens that are worth their gas",
    { vault: { ...over, ...holding([token, 1n], [other, 49n], [native, 2n]) } },
    recover(token, native),
  ],
  [
    "gives up if a closed address has too little of a token",
    { vault: { ...over, ...holding([other, 49n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "gives up if a closed address has only native coin that is worth less than the gas",
    { vault: { ...over, ...holding([native, 499_999n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "recovers native coin that is worth the gas",
    { vault: { ...over, ...holding([native, 500_000n]) } },
    recover(native),
  ],
  [
    "recovers only the native coin if there is too little of a token",
    { vault: { ...over, ...holding([other, 49n], [native, 500_000n]) } },
    recover(native),
  ],
  [
    "recovers a token whose amount just reaches the minimum",
    { vault: { ...over, ...holding([other, 50n]) } },
    recover(other),
  ],
  [
    "recovers the money of an expired and underfunded address",
    { chain: { timeSeconds: 1001 }, vault: holding([token, 99n]) },
    recover(token),
  ],
  [
    "executes although the intent's own token is listed as a look-alike",
    { wanted: { token: similar }, vault: holding([similar, 100n]) },
    execute,
  ],
  [
    "recovers the intent's own token after two failures although it is listed as a look-alike",
    {
      ...{ wanted: { token: similar }, vault: { ...over, ...holding([similar, 1n]) } },
      history: { recoveryFailures: 2 },
    },
    recover(similar),
  ],
  [
    "treats the intent's token as a look-alike on a chain that is not the intent's",
    {
      ...{ wanted: { token: similar }, chain: { chainId: 2 }, vault: holding([similar, 1n]) },
      history: { recoveryFailures: 2 },
    },
    giveUp("recovery_keeps_failing"),
  ],
  [
    "waits until the expiry if an open address has only a look-alike token",
    { vault: holding([similar, 500n]) },
    wait("underfunded", expiry + 1),
  ],
  [
    "executes an open address that has its amount and a look-alike token",
    { vault: holding([token, 100n], [similar, 9n]) },
    execute,
  ],
  [
    "recovers a look-alike token that is worth its gas",
    { vault: { ...over, ...holding([similar, 50n]) } },
    recover(similar),
  ],
  [
    "gives up if there is too little of a look-alike token",
    { vault: { ...over, ...holding([similar, 49n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "postpones the recovery of a look-alike token to the next day after three recoveries",
    { vault: { ...over, ...holding([similar, 2n ** 255n]) }, history: { recoveriesToday: 3 } },
    wait("recoveries_of_today_spent", 86_400),
  ],
  [
    "recovers only the surplus, not a look-alike token, after two failed recoveries",
    {
      vault: { ...over, ...holding([token, 1n], [similar, 2n ** 255n]) },
      history: { recoveryFailures: 2 },
    },
    recover(token),
  ],
  [
    "gives up a look-alike token after two failed recoveries",
    { vault: { ...over, ...holding([similar, 2n ** 255n]) }, history: { recoveryFailures: 2 } },
    giveUp("recovery_keeps_failing"),
  ],
  [
    "gives up after too many failed recoveries",
    { vault: over, history: { recoveryFailures: 6 } },
    giveUp("recovery_keeps_failing"),
  ],
  [
    "waits before a recovery if the fees are over the cap",
    { vault: over, fees: { perGas: 21n } },
    wait("fees_over_cap", 515),
  ],
  [
    "postpones the recovery of a low value to the next day after three recoveries",
    { vault: { ...over, ...holding([priced, 999n]) }, history: { recoveriesToday: 3 } },
    wait("recoveries_of_today_spent", 86_400),
  ],
  [
    "recovers a high value despite three recoveries of dust on the same day",
    { vault: { ...over, ...holding([priced, 1000n]) }, history: { recoveriesToday: 3 } },
    recover(priced),
  ],
  [
    "gives up if a token's price shows that the amount is worth less than the gas",
    { vault: { ...over, ...holding([priced, 499n]) } },
    giveUp("not_worth_its_gas"),
  ],
  [
    "recovers a token if its price shows that the amount is worth the gas",
    { vault: { ...over, ...holding([priced, 500n]) } },
    recover(priced),
  ],
  [
    "waits for the end of a backoff before a recovery",
    { vault: over, history: { notBeforeSeconds: 900 } },
    wait("backoff", 900),
  ],
];

describe("decide", () => {
  for (const [title, change, decision] of rows) {
    test(title, () => assert.deepEqual(decide(given(change)), decision));
  }

  test("executes only open and funded addresses in all 960 combinations of inputs", () => {
    let count = 0;
    const options = {
      hasCode: [false, true],
      chainId: [1, 2],
      timeSeconds: [expiry - 1, expiry, expiry + 1],
      held: [0n, 1n, 99n, 100n, 101n],
      perGas: [10n, 21n],
      notBeforeSeconds: [0, expiry + 500],
      paidFailures: [0, 3],
      recoveryFailures: [0, 6],
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

/** Yields every combination that has one value for each name. */
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
