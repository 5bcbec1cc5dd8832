import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import type { Endpoint } from "../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { openNetwork } from "../../chain/rpc/network.ts";
import { sleepUnref } from "../../flow/wait.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { Pass } from "../pass.ts";
import { adoptReplacement } from "./foreign.ts";
import type { SendMemory } from "./send.ts";

const hash = (byte: string): Hex => `0x${byte.repeat(32)}`;
const block = { number: "0x5", hash: hash("05"), parentHash: hash("04"), timestamp: "0x64" };
const address: Hex = `0x${"0a".repeat(20)}`;

test("adoptReplacement throws the key, the block, and each endpoint's nonce", async () => {
  const answer = (nonce: number, { method }: Call): Answer => {
    if (method === "eth_chainId") return { result: "0x1" };
    return { result: method === "eth_getBlockByNumber" ? block : toQuantity(nonce) };
  };
  const endpoints = [7, 8].map(
    (nonce, place): Endpoint => ({
      name: `rpc${place}`,
      ask: async (calls) => calls.map((call) => answer(nonce, call)),
    }),
  );
  const network = openNetwork(1, endpoints, () => {}, { clock: () => 0, sleep: sleepUnref });
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
