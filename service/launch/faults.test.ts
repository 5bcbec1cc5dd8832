// Tests launches with endpoints that lag, lie, or do not mine, and with a key that another program
// uses.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Hex } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { parseGwei, parseTransaction } from "viem";
import { type BareChain, startBareChain } from "../testing/launch/bare-chain.ts";
import type { LaunchState } from "./journal.ts";
import { launch } from "./launch.ts";
import type { LaunchOptions } from "./parts.ts";

async function startChain(t: TestContext): Promise<BareChain> {
  const chain = await startBareChain();
  t.after(chain.stop);
  return chain;
}

/** Runs a launch, and pays its address when it is shown. */
function run(chain: BareChain, change: Partial<LaunchOptions> = {}) {
  const options = { chainName: "base-sepolia", keyFile: chain.keyFile, rpcUrls: [] };
  const lines: string[] = [];
  let isPaid = false;
  const say = (line: string) => {
    lines.push(line);
    const address = /\n {2}(0x[0-9a-fA-F]{40})\n/.exec(line)?.[1];
    if (address && !isPaid) {
      isPaid = true;
      chain.pay(address as Hex);
    }
  };
  const done = launch(
    { ...options, isDryRun: false, isResume: false, ...change },
    { config: chain.config, say, pollMs: 20 },
  );
  return { done, lines };
}

const journalPath = ({ config }: BareChain) => join(config.dataDirectory, "launch-84532.json");
const journalOf = (chain: BareChain): LaunchState =>
  JSON.parse(readFileSync(journalPath(chain), "utf8"));
const countSent = ({ client, wallet }: BareChain) =>
  client.getTransactionCount({ address: wallet });

describe("launch refuses", () => {
  test("a gas price above maxFeePerGas, before anything is spent", async (t) => {
    const chain = await startChain(t);
    const file = chain.env.CHAINS_FILE;
    const [listed] = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify([{ ...listed, maxFeePerGas: `${parseGwei("0.5")}` }]));
    await assert.rejects(
      run(chain).done,
      /gas costs .* gwei now, which is above the chain's maxFeePerGas of 0\.5 gwei/,
    );
    assert.equal(await countSent(chain), 0);
    assert.equal(existsSync(chain.config.dataDirectory), false);
  });

  test("another key than in the interrupted launch, and names both wallets", async (t) => {
    const chain = await startChain(t);
    await run(chain).done;
    const state = journalOf(chain);
    const other = "0x00000000000000000000000000000000000000aA";
    writeFileSync(journalPath(chain), JSON.stringify({ ...state, wallet: other }));
    await assert.rejects(
      run(chain).done,
      new RegExp(`by the wallet ${other}, but the key belongs to ${chain.wallet}`),
    );
  });
});

describe("--resume --dry-run", () => {
  test("prints the progress of a launch and sends nothing", async (t) => {
    const chain = await startChain(t);
    await run(chain).done;
    const sent = await countSent(chain);
    const journal = readFileSync(journalPath(chain), "utf8");
    const { done, lines } = run(chain, { isResume: true, isDryRun: true });
    const planned = await done;
    assert.ok("cost" in planned);
    assert.deepEqual(planned.cost.steps, [], "nothing is left");
    assert.match(lines.join("\n"), /contracts +all deployed\n.*, executed\n +receipt +\//);
    assert.equal(await countSent(chain), sent);
    assert.equal(readFileSync(journalPath(chain), "utf8"), journal);
  });
});

describe("launch ends in one execution", () => {
  /** The launch has executed, and each transaction was sent once. */
  async function assertLaunched(chain: BareChain) {
    const launched = await run(chain).done;
    assert.ok("outcome" in launched);
    assert.equal(launched.outcome, "executed");
    const { sent } = journalOf(chain);
    assert.equal(sent.filter(({ mined }) => mined?.succeeded).length, sent.length);
    assert.equal(await countSent(chain), sent.length, "each transaction once");
  }

  test("although an endpoint that lags shows receipts only at the third request", async (t) => {
    const chain = await startChain(t);
    let requests = 0;
    chain.watch(async ({ method }, forward) =>
      method === "eth_getTransactionReceipt" && ++requests % 3 !== 0 ? { result: null } : forward(),
    );
    await assertLaunched(chain);
    assert.ok(requests >= 20, `${requests}`);
  });

  for (const [what, counted] of [
    ["the first send", 1],
    ["the third send", 3],
  ] as const) {
    test(`after ${what} was mined and answered with an error`, async (t) => {
      const chain = await startChain(t);
      let sends = 0;
      chain.watch(async ({ method }, forward) => {
        const answer = await forward();
        if (method !== "eth_sendRawTransaction" || ++sends !== counted) return answer;
        return { error: { code: -32000, message: "the connection to the backend was lost" } };
      });
      await run(chain).done.catch(() => {});
      await assertLaunched(chain);
    });
  }
});

describe("of two endpoints, one that shows other block hashes", () => {
  test("makes no receipt, and the launch is proved once it is honest", async (t) => {
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
    await assert.rejects(run(chain).done);
    assert.ok(isLying, "the calls ran before the lie");
    assert.equal(journalOf(chain).receipt, undefined);
    const sent = await countSent(chain);

    isLying = false;
    const proved = await run(chain).done;
    assert.ok("receipt" in proved && existsSync(proved.receipt));
    assert.equal(await countSent(chain), sent, "nothing is sent again");
  });
});
