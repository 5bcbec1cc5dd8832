import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { payAt, spareAccount } from "./local-node.ts";

const token: Hex = `0x${"1".repeat(40)}`;
const receiver: Hex = `0x${"2".repeat(40)}`;
const { address, intent } = makeRecord({
  chainId: 1,
  token,
  amount: "1",
  calls: [
    {
      target: token,
      function: "transfer(address to, uint256 amount)",
      args: [receiver, "1"],
    },
  ],
  expirationTimestamp: 2_000_000_000,
  recovery: receiver,
  salt: `0x${"0".repeat(64)}`,
});

describe("a node of another chain", () => {
  test("is asked for its chain id and nothing more, least of all to pay", async (t) => {
    const methods: string[] = [];
    const node = createServer(async (request, response) => {
      let asked = "";
      for await (const chunk of request) asked += chunk;
      const { id, method } = JSON.parse(asked);
      methods.push(method);
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
    }).listen(0, "127.0.0.1");
    t.after(() => node.close());
    await once(node, "listening");
    const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    await assert.rejects(payAt(url, address, intent), /is chain 1$/);
    await assert.rejects(spareAccount(url), /is chain 1$/);
    assert.deepEqual(methods, ["eth_chainId", "eth_chainId"]);
  });
});
