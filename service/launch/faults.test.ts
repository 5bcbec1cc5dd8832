// Tests launches with faulty endpoints, which lag behind, return wrong answers, or do not mine.
// Also tests launches with a key that another program uses.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import type { Hex } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { keccak256, parseGwei, parseTransaction } from "viem";
import { onlyLong } from "../../scripts/long.ts";
import { type BareChain, startBareChain } from "../testing/launch/bare-chain.ts";
import { countSent, journalOf, journalPath, runLaunch } from "../testing/launch/run.ts";

async function startChain(t: TestContext): Promise<BareChain> {
  const chain = await startBareChain();
  t.after(chain.stop);
  return chain;
}

describe("a refused launch", () => {
  test("spends nothing if the gas price is above `maxFeePerGas`", async (t) => {
    const chain = await startChain(t);
    const file = chain.env.CHAINS_FILE;
    const [listed] = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify([{ ...listed, maxFeePerGas: `${parseGwei("0.5")}` }]));
    await assert.rejects(
      runLaunch(chain).done,
      /gas costs .* gwei now, which is above the chain's maxFeePerGas of 0\.5 gwei/,
    );
    assert.equal(await countSent(chain), 0);
    assert.equal(existsSync(chain.config.dataDirectory), false);
  });

  test("names both wallets if the launch was started with another key", async (t) => {
    const chain = await startChain(t);
    await runLaunch(chain).done;
    const state = journalOf(chain);
    const other = "0x00000000000000000000000000000000000000aA";
    writeFileSync(journalPath(chain), JSON.stringify({ ...state, wallet: other }));
    await assert.rejects(
      runLaunch(chain).done,
      new RegExp(`by the wallet ${other}, but .* by the wallet ${chain.wallet}: use the same`),
    );
  });
});

describe("launch --resume --dry-run", () => {
  test("prints the progress of a launch and sends nothing", async (t) => {
    const chain = await startChain(t);
    await runLaunch(chain).done;
    const sent = await countSent(chain);
    const journal = readFileSync(journalPath(chain), "utf8");
    const { done, lines } = runLaunch(chain, { isResume: true, isDryRun: true });
    const planned = await done;
    assert.ok("cost" in planned);
    assert.deepEqual(planned.cost.steps, [], "nothing is left");
    assert.match(lines.join("\n"), /contracts +all deployed\n.*, executed\n +receipt +\//);
    assert.equal(await countSent(chain), sent);
    assert.equal(readFileSync(journalPath(chain), "utf8"), journal);
  });
});

describe("a launch executes exactly once", () => {
  /** Asserts that the launch succeeds and sends each transaction only once. */
  async function assertLaunched(chain: BareChain) {
    const launched = await runLaunch(chain).done;
    assert.ok("outcome" in launched);
    assert.equal(launched.outcome, "executed");
    const { sent } = journalOf(chain);
    assert.equal(sent.filter(({ mined }) => mined?.succeeded).length, sent.length);
    assert.equal(await countSent(chain), sent.length, "each transaction once");
  }

  test("even if an endpoint returns receipts late", async (t) => {
    const chain = await startChain(t);
    let requests = 0;
    chain.watch(async ({ method }, forward, index) =>
      index === 1 && method === "eth_getTransactionReceipt" && ++requests % 3 !== 0
        ? { result: null }
        : forward(),
    );
    await assertLaunched(chain);
    assert.ok(requests >= 20, `${requests}`);
  });

  test("even if an endpoint fails for a while", onlyLong, async (t) => {
    const chain = await startChain(t);
    const { pay } = chain;
    let failures = 0;
    chain.pay = async (address) => {
      chain.watch(async (_, forward, index) => {
        if (index === 0 || ++failures > 60) return forward();
        return { error: { code: -32000, message: "header not found" } };
      });
      await pay(address);
    };
    const { done, lines } = runLaunch(chain);
    await done;
    assert.ok(failures > 60, `${failures}`);
    assert.equal(lines.filter((line) => line.startsWith("Trying again for a minute: ")).length, 1);
    assert.equal(await countSent(chain), 8);
  });

  test("even if one endpoint refuses all transactions", async (t) => {
    const chain = await startChain(t);
    const indexes: number[] = [];
    chain.watch(async ({ method }, forward, index) => {
      if (method !== "eth_sendRawTransaction") return forward();
      indexes.push(index);
      return index === 0 ? { error: { code: -32000, message: "unavailable" } } : forward();
    });
    await assertLaunched(chain);
    assert.equal(indexes.filter((index) => index === 1).length, 9, "the keyless one, and eight");
  });

  test("even if one of two endpoints returns false receipts", async (t) => {
    const chain = await startChain(t);
    const sent: string[] = [];
    let lies = 0;
    const isLying = () => lies < 5;
    chain.watch(async ({ method, params }, forward, index) => {
      if (method === "eth_sendRawTransaction" && isLying()) {
        sent.push(`${params[0]}`);
        return { result: keccak256(params[0] as Hex) };
      }
      if (method !== "eth_getTransactionReceipt" || index === 1 || !isLying()) return forward();
      lies++;
      return { result: falseReceipt(params[0] as Hex) };
    });
    await assertLaunched(chain);
    assert.equal(lies, 5);
    assert.deepEqual([...new Set(sent)], [journalOf(chain).sent[0]!.raw], "only the first step");
  });

  for (const [what, counted] of [
    ["the first transaction", 1],
    ["the third transaction", 3],
  ] as const) {
    test(
      `even if a node returns an error after it mined ${what}`,
      counted === 1 ? {} : onlyLong,
      async (t) => {
        const chain = await startChain(t);
        let sends = 0;
        chain.watch(async ({ method }, forward) => {
          const answer = await forward();
          if (method !== "eth_sendRawTransaction" || ++sends !== counted) return answer;
          return { error: { code: -32000, message: "the connection to the backend was lost" } };
        });
        await runLaunch(chain).done.catch(() => {});
        await assertLaunched(chain);
      },
    );
  }
});

/** Returns a receipt with a block that does not exist. */
const falseReceipt = (transactionHash: Hex) => ({
  ...{ transactionHash, blockHash: `0x${"ab".repeat(32)}`, blockNumber: "0x3", logs: [] },
  ...{ status: "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x1" },
});

describe("a launch with two endpoints", () => {
  test("writes no receipt while one endpoint returns wrong block hashes", async (t) => {
    const chain = await startChain(t);
    let isLying = false;
    chain.watch(async ({ method, params }, forward, index) => {
      const answer = await forward();
      if (method === "eth_sendRawTransaction" && (await isExecution(params[0]))) isLying = true;
      if (!isLying || index !== 1 || !method.startsWith("eth_getBlockBy")) return answer;
      if (!("result" in answer) || !answer.result) return answer;
      return { result: { ...answer.result, hash: `0x${"ab".repeat(32)}` } };
    });
    const isExecution = async (raw: unknown) =>
      `${parseTransaction(raw as Hex).to}`.toLowerCase() === factoryAddress.toLowerCase();
    await assert.rejects(runLaunch(chain).done);
    assert.ok(isLying, "the calls ran before the lie");
    assert.equal(journalOf(chain).receipt, undefined);
    const sent = await countSent(chain);

    isLying = false;
    const proved = await runLaunch(chain).done;
    assert.ok("receipt" in proved && existsSync(proved.receipt));
    assert.equal(await countSent(chain), sent, "nothing is sent again");
  });
});
