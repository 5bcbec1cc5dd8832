// Tests that {@link anvilChain} lets viem find the receipt of a transaction. The block may arrive
// while viem checks whether the transaction was replaced.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPublicClient, custom, zeroAddress, zeroHash } from "viem";
import { anvilChain } from "./anvil.ts";

const transaction = { hash: zeroHash, from: zeroAddress, nonce: "0x0", blockNumber: null };
const receipt = { transactionHash: zeroHash, status: "0x1", blockNumber: "0x2", logs: [] };

test("waitForTransactionReceipt returns even if the block arrives late", async () => {
  let receiptsAsked = 0;
  const isMined = () => receiptsAsked > 1;
  const newBlock = Promise.withResolvers<void>();
  const answers: Record<string, () => unknown> = {
    eth_blockNumber: () => {
      // Answers eth_getBlockByNumber only after viem has processed the new block number.
      if (isMined()) setImmediate(newBlock.resolve);
      return isMined() ? "0x2" : "0x1";
    },
    eth_getTransactionReceipt: () => (++receiptsAsked > 2 ? receipt : null),
    eth_getTransactionByHash: () => transaction,
    eth_getBlockByNumber: () => newBlock.promise.then(() => ({ number: "0x1", transactions: [] })),
  };
  const client = createPublicClient({
    chain: anvilChain,
    transport: custom({ request: async ({ method }: { method: string }) => answers[method]!() }),
    pollingInterval: 1,
  });
  const { status } = await client.waitForTransactionReceipt({ hash: zeroHash, timeout: 5000 });
  assert.equal(status, "success");
});
