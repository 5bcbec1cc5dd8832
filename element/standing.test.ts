import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Call, type Hex, payWithTolerance } from "executable-address";
import type { Simulation } from "executable-address/client";
import type { AddressState, ServiceStatus, WrongToken } from "executable-address/status";
import { decideStanding, findWrongTokens } from "./standing.ts";

const now = 1_800_000_000;
const token: Hex = `0x${"11".repeat(20)}`;
const intent = { token, amount: "25", calls: [] as Call[], expirationTimestamp: now + 3600 };
const statusOf = (state: AddressState, more: Partial<ServiceStatus> = {}) =>
  ({ state, balance: "0", executor: null, ...more }) as ServiceStatus;
const simulation = (outcome: string, reason: string | null = null) =>
  ({ outcome, reason, failedCall: 1 }) as Simulation;
const executor = (phase: string, attempts: number) =>
  statusOf("funded", {
    balance: "25",
    executor: { phase, attempts, reason: "no gas" } as ServiceStatus["executor"],
  });

type Known = {
  status?: ServiceStatus;
  simulated?: Simulation;
  chain?: number;
  device?: number;
  silent?: number;
  isStale?: boolean;
};
const stand = ({ status, simulated, chain, device = now, silent = 0, isStale = false }: Known) => {
  const news = { status, isStale, chainSeconds: () => chain, silentSeconds: () => silent };
  return decideStanding(intent, news, simulated, device);
};

describe("reasons to hide the payment options", () => {
  const cases: [string, Known, string, string[]][] = [
    ["a silent server", { status: statusOf("unfunded"), silent: 60 }, "unfunded", ["silent"]],
    ["no status yet", {}, "unknown", ["unknown"]],
    [
      "a status that is older than the device's sleep",
      { status: statusOf("unfunded"), isStale: true },
      "unfunded",
      ["unknown"],
    ],
    ["executed", { status: statusOf("executed"), silent: 99 }, "executed", ["executed"]],
    ["recovered", { status: statusOf("recovered") }, "recovered", ["expired"]],
    ["expired", { status: statusOf("expired") }, "expired", ["expired"]],
    ["a sufficient balance", { status: statusOf("funded", { balance: "25" }) }, "paid", ["enough"]],
    [
      "a failing simulation",
      { status: statusOf("unfunded"), simulated: simulation("fails", "shut") },
      "unfunded",
      ["fails"],
    ],
    [
      "less than ten minutes left",
      { status: statusOf("unfunded"), chain: now + 3001 },
      "unfunded",
      ["soon"],
    ],
    [
      "a failing simulation and less than ten minutes left",
      { status: statusOf("partially_funded"), chain: now + 3001, simulated: simulation("fails") },
      "partly",
      ["fails", "soon"],
    ],
  ];
  for (const [name, known, state, doubts] of cases) {
    test(name, () => {
      const standing = stand(known);
      assert.equal(standing.state, state);
      assert.deepEqual(standing.doubts, doubts);
    });
  }

  test("there is no reason if ten minutes are left", () => {
    for (const simulated of [simulation("succeeds"), simulation("unknown"), undefined]) {
      const known = {
        status: statusOf("unfunded"),
        chain: now + 3000,
        ...(simulated && { simulated }),
      };
      assert.deepEqual(stand(known).doubts, []);
    }
  });
});

describe("the time until the expiry", () => {
  test("the time until the expiry depends on the chain's clock", () => {
    const status = statusOf("unfunded");
    const wrong = { device: now + 10 ** 6 };
    assert.deepEqual(stand({ status, chain: now, ...wrong }).doubts, []);
    assert.deepEqual(stand({ status, chain: now + 3601, device: 0 }).doubts, ["expired"]);
    assert.equal(stand({ status, chain: now + 3600, device: 0 }).secondsLeft, 0);
  });

  test("the device's clock is used if the chain's clock is unknown", () => {
    assert.equal(stand({ device: now + 3601 }).state, "expired");
  });
});

describe("a paid address that cannot execute", () => {
  test("the failing call and its reason are shown", () => {
    const status = statusOf("funded", { balance: "25" });
    const standing = stand({ status, simulated: simulation("fails", "shut") });
    assert.equal(standing.state, "stuck");
    assert.equal(standing.reason, "shut");
    assert.equal(standing.failedCall, 1);
  });

  test("the address is stuck if the executor gave up or failed", () => {
    assert.equal(stand({ status: executor("given_up", 3) }).state, "stuck");
    assert.equal(stand({ status: executor("given_up", 3) }).reason, "no gas");
    assert.equal(stand({ status: executor("waiting", 1) }).state, "stuck");
    const again = { status: executor("waiting", 1), simulated: simulation("succeeds") };
    assert.equal(stand(again).state, "paid");
    assert.equal(stand({ status: executor("waiting", 0) }).state, "paid");
    assert.equal(stand({ status: executor("sent", 1) }).state, "paid");
  });
});

test("the owed amount is the amount that is still missing", () => {
  const standing = stand({ status: statusOf("partially_funded", { balance: "10" }) });
  assert.equal(standing.state, "partly");
  assert.equal(standing.owed, "15");
});

const wrong: WrongToken = {
  ...{ token: "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", amount: "25000000" },
  ...{ symbol: "USDC.e", name: "Bridged USDC", decimals: 6, looksLike: "USDC" },
  ...{ transactionHash: null, payer: null },
};
const openStanding = { state: "unfunded", secondsLeft: 0 } as const;

describe("a notice about look-alike tokens", () => {
  test("there is no notice without a status", () => {
    assert.deepEqual(findWrongTokens(undefined, openStanding), []);
    assert.deepEqual(findWrongTokens({ wrongTokens: null }, openStanding), []);
  });

  test("the notice says that the token is returned after the expiry", () => {
    assert.deepEqual(findWrongTokens({ wrongTokens: [wrong] }, openStanding), [
      {
        token: wrong.token,
        name: "Bridged USDC (USDC.e)",
        held: "25 USDC.e",
        fate: "wrongTokenLater",
      },
    ]);
  });

  test("the notice says that the token is being returned", () => {
    const over = [
      { state: "unfunded", secondsLeft: -1 },
      { state: "expired", secondsLeft: -9 },
      { state: "executed", secondsLeft: 9 },
      { state: "recovered", secondsLeft: -9 },
    ] as const;
    for (const standing of over) {
      const [found] = findWrongTokens({ wrongTokens: [wrong] }, standing);
      assert.equal(found?.fate, "wrongTokenNow", standing.state);
    }
  });

  test("the notice omits misleading symbols and names", () => {
    const names = (change: object) =>
      findWrongTokens({ wrongTokens: [{ ...wrong, ...change }] }, openStanding).map(
        ({ name, held }) => [name, held],
      );
    const hidden = { symbol: "USDC\u202e", name: "\u202e" };
    assert.deepEqual(names(hidden), [[wrong.token, `25 ${wrong.token}`]]);
    assert.deepEqual(names({ name: "\u202e" }), [["USDC.e", "25 USDC.e"]]);
    assert.deepEqual(names({ symbol: "U".repeat(21) }), [[wrong.token, `25 ${wrong.token}`]]);
  });
});

describe("a payment that requests 100 and accepts 99", () => {
  const tolerant = {
    ...payWithTolerance({ token, recipient: token, least: 99n, most: 100n }),
    expirationTimestamp: now + 3600,
  };
  const owedOf = (state: AddressState, balance: string) => {
    const status = statusOf(state, { balance });
    const news = { status, isStale: false, chainSeconds: () => now, silentSeconds: () => 0 };
    return decideStanding(tolerant, news, undefined, now).owed;
  };

  test("the owed amount is the amount that is missing to 100", () => {
    assert.equal(owedOf("unfunded", "0"), "100");
    assert.equal(owedOf("partially_funded", "98"), "2");
  });

  test("nothing is owed after 99 arrived", () => assert.equal(owedOf("funded", "99"), "0"));
});
