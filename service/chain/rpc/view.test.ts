import assert from "node:assert/strict";
import { test } from "node:test";
import { openCannedNetwork } from "../../testing/chain/canned-network.ts";

test("a read throws each endpoint's error if no endpoint has a usable answer", async () => {
  const network = openCannedNetwork(2, (place) => ({
    error: { code: -32601, message: `no such method at ${place}` },
  }));
  const view = await network.openView();
  await assert.rejects(view.read([{ method: "eth_getBalance", params: [] }]), {
    name: "ChainUnavailable",
    message:
      "expected an answer to eth_getBalance from one of 2 endpoints, found " +
      "rpc0: no such method at 0, rpc1: no such method at 1",
  });
});
