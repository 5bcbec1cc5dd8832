// Tests launches with two nodes that both execute every block. The second node lags behind, has
// another chain, or returns a wrong outcome.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import { type Hex, toHex } from "executable-address";
import { verifyReceipt } from "executable-address/proof";
import { factoryAddress } from "executable-address-contracts";
import { createPublicClient, http, parseTransaction } from "viem";
import { onlyLong } from "../../scripts/long.ts";
import { type BareChain, startBareChain, type Watch } from "../testing/launch/bare-chain.ts";
import { countSent, journalOf, runLaunch } from "../testing/launch/run.ts";

async function startChain(t: TestContext, nodes: ("own" | "second")[]): Promise<BareChain> {
  const chain = await startBareChain({ nodes });
  t.after(chain.stop);
  return chain;
}

const isExecution = ({ method, params }: Parameters<Watch>[0]) =>
  method === "eth_sendRawTransaction" &&
  `${parseTransaction(params[0] as Hex).to}` === factoryAddress.toLowerCase();

/**
 * Calls `then` when the first node has mined the execution. After that, the function `later`
 * handles all requests to the nodes.
 */
function afterExecution(chain: BareChain, then: () => void, later: Watch): void {
  let isExecuted = false;
  chain.watch(async (call, forward, index) => {
    if (isExecuted) return later(call, forward, index);
    const answer = await forward();
    if (isExecution(call)) {
      isExecuted = true;
      then();
    }
    return answer;
  });
}

const receiptFile = ({ config }: BareChain) => `${config.dataDirectory}/launch-84532-receipt.json`;

/**
 * Asserts that the launch fails without writing a receipt. Then makes the second node return
 * correct answers. The same command must succeed without another transaction.
 */
async function assertProvedLater(chain: BareChain, message: RegExp, becomeHonest: () => void) {
  await assert.rejects(runLaunch(chain).done, { message });
  assert.equal(journalOf(chain).receipt, undefined);
  assert.equal(existsSync(receiptFile(chain)), false);
  becomeHonest();
  const proved = await runLaunch(chain).done;
  assert.ok("outcome" in proved);
  assert.equal(proved.outcome, "executed");
  assert.equal(await countSent(chain), 8);
}

const tooFew = /nonce 7 is used, but too few endpoints show the transaction that used it/;

describe("a launch with two nodes", () => {
  test("proves the outcome at a block that both nodes have executed", async (t) => {
    const chain = await startChain(t, ["own", "second"]);
    const run = runLaunch(chain);
    const proved = await run.done;
    assert.ok("outcome" in proved);
    const [hash, number] = [proved.block.hash, BigInt(proved.block.number)];
    const second = createPublicClient({ transport: http(chain.second!.rpcUrl) });
    assert.equal((await second.getBlock({ blockNumber: number })).hash, hash);
    assert.match(run.lines.join("\n"), new RegExp(`Proven with 2 of 2 endpoints .* ${hash}`));
    const code = await second.getCode({ address: proved.address });
    assert.ok(code, "the second node has executed the calls");
  });

  test("waits for a second node that falls behind", async (t) => {
    const chain = await startChain(t, ["own", "second"]);
    const second = chain.second!;
    let requests = 0;
    afterExecution(
      chain,
      () => second.become("stands still"),
      (_, forward, index) => {
        if (index === 1 && ++requests === 40) second.become("follows");
        return forward();
      },
    );
    const proved = await runLaunch(chain).done;
    assert.ok("outcome" in proved && proved.outcome === "executed");
    assert.ok(requests > 40, `${requests}`);
    assert.equal(await countSent(chain), 8);
  });

  test("writes no receipt if the second node stops", onlyLong, async (t) => {
    const chain = await startChain(t, ["own", "second"]);
    const second = chain.second!;
    afterExecution(
      chain,
      () => second.become("stands still"),
      (_, forward) => forward(),
    );
    await assertProvedLater(chain, tooFew, () => second.become("follows"));
  });

  test("writes no receipt if the second node's chain lacks the execution", onlyLong, async (t) => {
    const chain = await startChain(t, ["own", "second"]);
    const second = chain.second!;
    afterExecution(
      chain,
      () => second.become("forks"),
      (_, forward) => forward(),
    );
    await assertProvedLater(chain, /expected 2 of 2 endpoints to agree on a block/, () =>
      second.become("follows"),
    );
  });
});

describe("a launch with a node that lies about the outcome", () => {
  let isLying = false;
  const lie: Watch = async (call, forward, index) => {
    const answer = await forward();
    if (!isLying || index !== 1 || !("result" in answer) || !answer.result) return answer;
    const { result } = answer;
    switch (call.method) {
      case "eth_getCode":
        return { result: "0x" };
      case "eth_getLogs":
        return { result: [] };
      case "eth_getTransactionReceipt":
        return { result: { ...result, status: "0x0", logs: [] } };
      case "eth_getProof":
        return { result: { ...result, codeHash: toHex(new Uint8Array(32)), accountProof: [] } };
      default:
        return answer;
    }
  };

  test("writes no receipt if one of two nodes lies", async (t) => {
    const chain = await startChain(t, ["own", "second"]);
    afterExecution(
      chain,
      () => {
        isLying = true;
      },
      lie,
    );
    await assertProvedLater(chain, /expected 2 of 2 endpoints to return the same status/, () => {
      isLying = false;
    });
  });

  test("proves the true outcome if one of three nodes lies", onlyLong, async (t) => {
    const chain = await startChain(t, ["own", "second", "own"]);
    afterExecution(
      chain,
      () => {
        isLying = true;
      },
      lie,
    );
    const run = runLaunch(chain);
    const proved = await run.done;
    assert.ok("outcome" in proved && proved.outcome === "executed");
    assert.match(run.lines.join("\n"), /Proven with 2 of 3 endpoints/);
    const receipt = JSON.parse(readFileSync(proved.receipt, "utf8"));
    const verified = verifyReceipt(receipt, "its own");
    for (const { hash } of verified.blocks) await chain.client.getBlock({ blockHash: hash });
    assert.equal(verified.outcome, "executed");
    assert.equal(verified.payments.length, 1);
  });
});
