import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import type { Job } from "../ledger/jobs.ts";
import { afterFailure } from "./work.ts";

const token: Hex = `0x${"aa".repeat(20)}`;
const job: Job = {
  address: `0x${"bb".repeat(20)}`,
  terms: "0x",
  accountId: "acc_1",
  isClientId: false,
  reason: null,
  detectedAtSeconds: 0,
  notBeforeSeconds: 0,
  failures: 4,
  paidFailures: 0,
  recoveryFailures: 0,
  recoveryDay: 0,
  recoveries: 0,
};

/** Returns the seconds until the retry after the fifth failure. The intent expires in 10 s. */
function retriesAfter({ chainId = 1, hasCode = false, nowSeconds = 1000 }): number {
  const pass = { nowSeconds, parts: { chain: { chainId: 1 }, random: () => 1, report() {} } };
  const wanted = { chainId, token, amount: 1n, expirationSeconds: 1010 };
  const item = { job, wanted, vault: { hasCode, balances: new Map() } };
  return afterFailure(pass, item, "simulation_unavailable").dueAtSeconds! - nowSeconds;
}

describe("a job that fails before its transaction is sent", () => {
  /** The first backoff is 15 s, and the backoff doubles with each failure. */
  const backoffSeconds = 240;

  test("waits for the whole backoff time if its intent is for another chain", () => {
    assert.equal(retriesAfter({ chainId: 10 }), backoffSeconds);
  });

  test("waits for the whole backoff time if its address is closed or expired", () => {
    assert.equal(retriesAfter({ hasCode: true }), backoffSeconds);
    assert.equal(retriesAfter({ nowSeconds: 1011 }), backoffSeconds);
  });

  test("is retried one second after the expiration time if its address is open", () => {
    assert.equal(retriesAfter({}), 11);
    assert.equal(retriesAfter({ nowSeconds: 1010 }), 1);
  });
});
