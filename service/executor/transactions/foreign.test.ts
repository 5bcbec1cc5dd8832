import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { openCannedNetwork } from "../../testing/chain/canned-network.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { Pass } from "../pass.ts";
import { adoptReplacement } from "./foreign.ts";
import type { SendMemory } from "./send.ts";

const address: Hex = `0x${"0a".repeat(20)}`;

test("adoptReplacement's error names the key, the block, and each endpoint's nonce", async () => {
  const network = openCannedNetwork(2, (place) => ({ result: toQuantity(7 + place) }));
  const view = await network.openView();
  const parts = { chain: { confirmations: 2 } };
  const pass = { view, parts, signer: { address }, nowSeconds: 100 };
  const purpose = { nonce: 7, transactions: [], addresses: [] };
  const asked = adoptReplacement(pass as unknown as Pass<SendMemory>, purpose as never as Purpose);
  await assert.rejects(asked, {
    name: "ChainUnavailable",
    message:
      `the nonce of ${address} at block 3: expected the same answer from 2 endpoints, found ` +
      "rpc0: 7, rpc1: 8",
  });
});
