import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hex } from "executable-address";
import { openCannedNetwork } from "../../testing/chain/canned-network.ts";
import type { ExecutorEvent } from "../events/event.ts";
import type { Purse } from "./purse.ts";
import { broadcast, type Order, openSendMemory, type SendPass, send } from "./send.ts";

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

test("broadcast reports the name of the endpoint that refuses a transaction", async () => {
  const message = "not today";
  const network = openCannedNetwork(2, (place) =>
    place === 0 ? { result: "0x" } : { error: { code: -32_000, message } },
  );
  const events: ExecutorEvent[] = [];
  const pass = {
    parts: { clock: () => 0, report: (event: ExecutorEvent) => events.push(event), chain: {} },
    memory: { ...openSendMemory(), relays: { count: 0, send: async () => [] } },
    view: await network.openView(),
  };
  const purpose = { id: "1", nonce: 7, transactions: [] };
  await broadcast(pass as unknown as SendPass, purpose, { hash: "0x", raw: "0x" });
  assert.deepEqual(events, [{ kind: "send_refused", nonce: 7, rpc: "rpc1", message }]);
});
