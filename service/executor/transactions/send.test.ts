import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hex } from "executable-address";
import type { Purse } from "./purse.ts";
import { type Order, openSendMemory, type SendPass, send } from "./send.ts";

const address: Hex = `0x${"0a".repeat(20)}`;
const suggested = { maxFee: 1n, priorityFee: 1n };
const order = { kind: "execute", nonce: 0, data: "0x", gas: 21_000, shares: [] } satisfies Order;

test("`send` throws `SignerFailed` and skips a signer that failed less than 15 s ago", async () => {
  let nowMs = 0;
  let calls = 0;
  const sign = async () => {
    calls++;
    throw new Error("no session");
  };
  const parts = {
    ...{ chain: { chainId: 1 }, factory: address, report: () => {}, clock: () => nowMs },
    ledger: { openPurpose: () => assert.fail("nothing may be stored") },
  };
  const pass = { parts, memory: openSendMemory(), signer: { address, sign }, nowSeconds: 0 };
  const attempt = () => send(pass as unknown as SendPass, { suggested } as unknown as Purse, order);

  await assert.rejects(attempt(), { name: "SignerFailed", message: "Error: no session" });
  nowMs = 14_999;
  await assert.rejects(attempt(), {
    name: "SignerFailed",
    message: `the signer of ${address} failed less than 15 s ago, so it is not called again yet`,
  });
  assert.equal(calls, 1);

  nowMs = 15_000;
  await assert.rejects(attempt(), { name: "SignerFailed", message: "Error: no session" });
  assert.equal(calls, 2);
});
