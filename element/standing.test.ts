import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Call, type Hex, payWithTolerance } from "executable-address";
import type { Simulation } from "executable-address/client";
import type { AddressState, ServiceStatus, WrongToken } from "executable-address/status";
import type { Hazard } from "./hazards.ts";
import { decideOffer, decideStanding, findWrongTokens } from "./standing.ts";

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

describe("the payment options of a page", () => {
  const cases: [string, Known, string, string[]][] = [
    [
      "the server is silent for a minute",
      { status: statusOf("unfunded"), silent: 60 },
      "unfunded",
      ["silent"],
    ],
    ["no status has arrived", {}, "unknown", ["unknown"]],
    [
      "the device has slept since the last status",
      { status: statusOf("unfunded"), isStale: true },
      "unfunded",
      ["unknown"],
    ],
    [
      "the calls were executed",
      { status: statusOf("executed"), silent: 99 },
      "executed",
      ["executed"],
    ],
    ["a recovery closed the address", { status: statusOf("recovered") }, "recovered", ["expired"]],
    ["the address has expired", { status: statusOf("expired") }, "expired", ["expired"]],
    [
      "the balance is sufficient",
      { status: statusOf("funded", { balance: "25" }) },
      "paid",
      ["enough"],
    ],
    [
      "the simulation fails",
      { status: statusOf("unfunded"), simulated: simulation("fails", "shut") },
      "unfunded",
      ["fails"],
    ],
    [
      "less than ten minutes are left",
      { status: statusOf("unfunded"), chain: now + 3001 },
      "unfunded",
      ["soon"],
    ],
    [
      "the simulation fails shortly before the expiry",
      { status: statusOf("partially_funded"), chain: now + 3001, simulated: simulation("fails") },
      "partly",
      ["fails", "soon"],
    ],
  ];
  for (const [name, known, state, doubts] of cases) {
    test(`a page hides the payment options if ${name}`, () => {
      const standing = stand(known);
      assert.equal(standing.state, state);
      assert.deepEqual(standing.doubts, doubts);
    });
  }

  test("a page shows the payment options if ten minutes are left", () => {
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

describe("the offer of a payment", () => {
  const bad: Hazard = { tone: "bad", title: "hazardUnlimited", call: 1 };
  const more: Hazard = { tone: "warn", title: "hazardMore", call: 1 };
  const offered = (known: Known, ...hazards: Hazard[]) => decideOffer(stand(known), hazards);
  const unfunded = { status: statusOf("unfunded") };

  test("the payment options are shown if there is no hazard or only a minor one", () => {
    const shown = { isAwaited: true, isCovered: false, isPayable: true, isGrave: false };
    assert.deepEqual(offered(unfunded), shown);
    assert.deepEqual(offered(unfunded, more), shown);
  });

  test("the payment options are hidden for a serious hazard or an unresponsive server", () => {
    const hidden = { isAwaited: true, isPayable: false };
    assert.deepEqual(offered(unfunded, bad), { ...hidden, isCovered: true, isGrave: false });
    const silent = { ...unfunded, silent: 60 };
    assert.deepEqual(offered(silent), { ...hidden, isCovered: false, isGrave: true });
  });

  test("a hazard is ignored if the address needs no more money", () => {
    const over = { isAwaited: false, isCovered: false, isPayable: false };
    for (const [known, isGrave] of [
      [{ status: statusOf("funded", { balance: "25" }) }, false],
      [{ status: statusOf("executed") }, false],
      [{ status: executor("given_up", 3) }, true],
      [{ status: statusOf("expired") }, true],
      [{ status: statusOf("recovered") }, true],
    ] as const)
      assert.deepEqual(offered(known, bad), { ...over, isGrave }, known.status.state);
  });
});

describe("decideStanding", () => {
  test("the time left depends on the chain's clock, even if the device's clock is wrong", () => {
    const status = statusOf("unfunded");
    const wrong = { device: now + 10 ** 6 };
    assert.deepEqual(stand({ status, chain: now, ...wrong }).doubts, []);
    assert.deepEqual(stand({ status, chain: now + 3601, device: 0 }).doubts, ["expired"]);
    assert.equal(stand({ status, chain: now + 3600, device: 0 }).secondsLeft, 0);
  });

  test("decideStanding uses the device's clock if the chain's time is unknown", () => {
    assert.equal(stand({ device: now + 3601 }).state, "expired");
  });
});

describe("a paid address that cannot execute", () => {
  test("decideStanding returns the failing call and its reason", () => {
    const status = statusOf("funded", { balance: "25" });
    const standing = stand({ status, simulated: simulation("fails", "shut") });
    assert.equal(standing.state, "stuck");
    assert.equal(standing.reason, "shut");
    assert.equal(standing.failedCall, 1);
  });

  test("the state is `stuck` if the executor gave up or would probably fail again", () => {
    assert.equal(stand({ status: executor("given_up", 3) }).state, "stuck");
    assert.equal(stand({ status: executor("given_up", 3) }).reason, "no gas");
    assert.equal(stand({ status: executor("waiting", 1) }).state, "stuck");
    const again = { status: executor("waiting", 1), simulated: simulation("succeeds") };
    assert.equal(stand(again).state, "paid");
    assert.equal(stand({ status: executor("waiting", 0) }).state, "paid");
    assert.equal(stand({ status: executor("sent", 1) }).state, "paid");
  });
});

test("decideStanding returns the missing amount for a partial payment", () => {
  const standing = stand({ status: statusOf("partially_funded", { balance: "10" }) });
  assert.equal(standing.state, "partly");
  assert.equal(standing.owed, "15");
});

const wrong: WrongToken = {
  ...{ token: "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", amount: "25000000" },
  ...{ symbol: "USDC.e", name: "Bridged USDC", decimals: 6, looksLike: "USDC" },
  ...{ transactionHash: null, payer: null },
};
const openStanding = { state: "unfunded" } as const;

describe("a notice about look-alike tokens", () => {
  test("findWrongTokens returns no notice without a status", () => {
    assert.deepEqual(findWrongTokens(undefined, openStanding), []);
    assert.deepEqual(findWrongTokens({ wrongTokens: null }, openStanding), []);
  });

  test("before the expiry, the notice says that the token will be returned later", () => {
    assert.deepEqual(findWrongTokens({ wrongTokens: [wrong] }, openStanding), [
      {
        token: wrong.token,
        name: "Bridged USDC (USDC.e)",
        held: "25 USDC.e",
        fate: "wrongTokenLater",
      },
    ]);
  });

  test("after an execution or the expiry, the notice says that a return is under way", () => {
    for (const state of ["expired", "executed", "recovered"] as const) {
      const [found] = findWrongTokens({ wrongTokens: [wrong] }, { state });
      assert.equal(found?.fate, "wrongTokenNow", state);
    }
  });

  test("the notice trusts the status `expired` even if the device's clock is slow", () => {
    const standing = stand({ status: statusOf("expired") });
    assert.ok(standing.secondsLeft > 0);
    const [found] = findWrongTokens({ wrongTokens: [wrong] }, standing);
    assert.equal(found?.fate, "wrongTokenNow");
  });

  test("the notice omits misleading symbols and names", () => {
    const names = (change: object) =>
      findWrongTokens({ wrongTokens: [{ ...wrong, ...change }] }, openStanding).map(
        ({ name, held }) => [name, held],
      );
    const hidden = { symbol: "USDC\u202e", name: "\u202e" };
    assert.deepEqual(names(hidden), [[wrong.token, `25 ${wrong.token}`]]);
    assert.deepEqual(names({ name: "\u202e" }), [["USDC.e", "25 USDC.e"]]);
    assert.deepEqual(names({ symbol: "U".repeat(33) }), [[wrong.token, `25 ${wrong.token}`]]);
  });
});

describe("an intent that requests 100 but accepts 99", () => {
  const tolerant = {
    ...payWithTolerance({ token, recipient: token, least: 99n, most: 100n }),
    expirationTimestamp: now + 3600,
  };
  const owedOf = (state: AddressState, balance: string) => {
    const status = statusOf(state, { balance });
    const news = { status, isStale: false, chainSeconds: () => now, silentSeconds: () => 0 };
    return decideStanding(tolerant, news, undefined, now).owed;
  };

  test("the amount due is 100 minus the balance if the balance is below 99", () => {
    assert.equal(owedOf("unfunded", "0"), "100");
    assert.equal(owedOf("partially_funded", "98"), "2");
  });

  test("the amount due is zero if the balance is 99", () => {
    assert.equal(owedOf("funded", "99"), "0");
  });
});
