// Tests reorganizations that remove transactions of a launch, during the launch or afterwards.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { makeRecord } from "executable-address";
import { deterministicDeployer, factoryAddress } from "executable-address-contracts";
import { parseGwei } from "viem";
import { onlyLong } from "../../scripts/long.ts";
import { type BareChain, startBareChain } from "../testing/launch/bare-chain.ts";
import { countSent, journalOf, runLaunch } from "../testing/launch/run.ts";

/**
 * Starts a chain for a launch. `assertPaidOnce` asserts that the launch succeeds and pays for each
 * step only once.
 */
async function startChain(t: TestContext) {
  const chain = await startBareChain();
  t.after(chain.stop);
  const { client, wallet } = chain;
  const before = await client.getBalance({ address: wallet });
  const start = Number(await client.getBlockNumber());
  return {
    chain,
    /**
     * Simulates a reorganization that keeps the launch's first `number` blocks. The first new block
     * contains the transactions `raws`.
     */
    async undo(number: number, raws: string[] = []) {
      const head = Number(await client.getBlockNumber());
      const pairs = raws.map((raw) => [raw, 0]);
      await client.request({
        method: "anvil_reorg" as never,
        params: [head - start - number, pairs] as never,
      });
    },
    async assertPaidOnce(transactions = 8) {
      const launched = await runLaunch(chain).done;
      assert.ok("outcome" in launched);
      assert.equal(launched.outcome, "executed");
      const { sent } = journalOf(chain);
      assert.equal(sent.filter(({ mined }) => mined?.succeeded).length, sent.length);
      assert.equal(await countSent(chain), transactions);
      const balance = await client.getBalance({ address: wallet });
      assert.equal(
        sent.reduce((sum, { mined }) => sum + BigInt(mined!.wei), 0n),
        before - balance,
      );
      return launched;
    },
  };
}

const addressOf = (chain: BareChain) => makeRecord(journalOf(chain).intent!).address;

describe("a launch that is repeated after a reorganization", () => {
  // The launch's first two blocks fund and create the deployer. Block 3 creates the factory, and
  // blocks 4 to 8 create the other contracts. Block 9 contains the payment, and block 10 the
  // execution.
  const cases = [
    ["the execution", 9],
    ["the payment and the execution", 8],
    ["everything after the factory", 3],
    ["the factory and everything after it", 2],
    ["the deployer and everything after it", 1],
    ["everything", 0],
  ] as const;
  for (const [what, left] of cases) {
    const options = left === 9 || left === 0 ? {} : onlyLong;
    const name = `repeats only the steps that are missing after the removal of ${what}`;
    test(name, options, async (t) => {
      const { chain, undo, assertPaidOnce } = await startChain(t);
      const first = await runLaunch(chain).done;
      const sent = journalOf(chain).sent.map(({ hash }) => hash);
      const address = addressOf(chain);
      await undo(left);
      const { done, lines } = runLaunch(chain, { isResume: true, isDryRun: true });
      await done;
      const removed = lines.join("\n").match(/ was removed by a reorganization/g) ?? [];
      const mined = 8 - removed.length;
      assert.match(lines.join("\n"), new RegExp(`transactions  8 sent, ${mined} mined`));
      assert.equal(mined, [0, 1, 1, 2, 3, 4, 5, 6, 7, 7, 8][left]);
      const again = await assertPaidOnce();
      assert.equal(addressOf(chain), address, "the same address");
      assert.deepEqual(
        journalOf(chain).sent.map(({ hash }) => hash),
        sent,
        "the same transactions",
      );
      assert.ok("transactionHash" in first && "transactionHash" in again);
      assert.equal(again.transactionHash, first.transactionHash);
    });
  }

  test("continues if the original transaction was mined, but not its replacement", async (t) => {
    const { chain, undo } = await startChain(t);
    const { client } = chain;
    await client.setAutomine(false);
    const run = runLaunch(chain);
    await run.prints(/^sending /);
    const [first] = journalOf(chain).sent;
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("4") });
    await client.mine({ blocks: 1 });
    await run.prints(/^raised the fee from /);
    await client.setAutomine(true);
    await client.mine({ blocks: 1 });
    await run.done;
    const raised = journalOf(chain).sent[0]!;
    assert.equal(raised.nonce, first!.nonce);
    assert.notEqual(raised.hash, first!.hash);

    await undo(0, [first!.raw]);
    assert.equal(await countSent(chain), 1);
    const again = runLaunch(chain);
    const launched = await again.done;
    assert.ok("outcome" in launched);
    assert.equal(launched.outcome, "executed");
    assert.doesNotMatch(again.lines.join("\n"), /another program/);
    const { sent } = journalOf(chain);
    assert.deepEqual([sent[0]!.hash, sent.length], [first!.hash, 8]);
    assert.ok(sent.every(({ mined }) => mined?.succeeded));
    assert.equal(await countSent(chain), 8, "each step once");
  });

  test(
    "deploys the factory again if its transaction was mined without the deployer",
    onlyLong,
    async (t) => {
      const { chain, undo } = await startChain(t);
      await runLaunch(chain).done;
      const raws = journalOf(chain).sent.map(({ raw }) => raw);
      // Nodes can mine removed transactions again after a reorganization. In this test, the node
      // mines the journal's first two transactions: the funding and the factory. The node does not
      // mine the deployer's transaction again.
      await undo(0, raws.slice(0, 2));
      assert.equal(await chain.client.getCode({ address: factoryAddress }), undefined);
      const launched = await runLaunch(chain).done;
      assert.ok("outcome" in launched);
      assert.equal(launched.outcome, "executed");
      assert.equal(await countSent(chain), 9, "the factory's first transaction did nothing");
    },
  );
});

describe("a launch that waits for its payment", () => {
  test("redeploys contracts that a reorganization removed", async (t) => {
    const { chain, undo, assertPaidOnce } = await startChain(t);
    let isUndone = false;
    const { pay } = chain;
    chain.pay = async (address) => {
      if (!isUndone) await undo(0);
      isUndone = true;
      await pay(address);
    };
    const { done } = runLaunch(chain);
    await done;
    assert.ok(isUndone);
    assert.ok(await chain.client.getCode({ address: deterministicDeployer.address }));
    await assertPaidOnce();
  });
});
