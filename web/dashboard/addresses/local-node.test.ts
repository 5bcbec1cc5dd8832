import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { numberToHex } from "viem/utils";
import { anvilChain } from "../../../contracts/anvil.ts";
import { startFixedNode, startOtherChain } from "../../../contracts/testing/other-chain.ts";
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

describe("a local node of another chain", () => {
  test("payAt and spareAccount request only the chain ID and then throw", async (t) => {
    const { methods, rpcUrl: url } = await startOtherChain(t);
    await assert.rejects(payAt(url, address, intent), /is chain 1; expected 31337$/);
    await assert.rejects(spareAccount(url), /is chain 1; expected 31337$/);
    assert.deepEqual(methods, ["eth_chainId", "eth_chainId"]);
  });
});

describe("a payment from a local node", () => {
  const start = (t: TestContext, accounts: readonly Hex[]) =>
    startFixedNode(t, (method) => {
      if (method === "eth_chainId") return numberToHex(anvilChain.id);
      if (method === "eth_accounts") return accounts;
      return method === "eth_getTransactionReceipt" ? { status: "0x0" } : `0x${"4".repeat(64)}`;
    });

  test("payAt sends nothing if the node has only one account", async (t) => {
    const { methods, rpcUrl } = await start(t, [receiver]);
    await assert.rejects(payAt(rpcUrl, address, intent), {
      message: `${rpcUrl} has no second account to pay from`,
    });
    assert.ok(!methods.includes("eth_sendTransaction"));
    assert.equal(await spareAccount(rpcUrl), null);
  });

  test("the second transaction is not sent if the first fails", async (t) => {
    const { methods, rpcUrl } = await start(t, [receiver, receiver]);
    const message = `0x${"4".repeat(64)} failed`;
    await assert.rejects(payAt(rpcUrl, address, intent), { message });
    assert.equal(methods.filter((method) => method === "eth_sendTransaction").length, 1);
  });
});
