import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { startOtherChain } from "../../../contracts/testing/other-chain.ts";
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
    const { methods, rpcUrl: url } = await startOtherChain(t);
    await assert.rejects(payAt(url, address, intent), /is chain 1$/);
    await assert.rejects(spareAccount(url), /is chain 1$/);
    assert.deepEqual(methods, ["eth_chainId", "eth_chainId"]);
  });
});
