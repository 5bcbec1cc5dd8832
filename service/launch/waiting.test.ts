// Tests launches during which the chain stops mining or its fees rise. Also tests launches whose
// key is used by another program.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Hex } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { anvilKeys } from "executable-address-contracts/anvil";
import { parseGwei, parseTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { onlyLong } from "../../scripts/long.ts";
import { type BareChain, startBareChain } from "../testing/launch/bare-chain.ts";
import { countSent, journalOf, runLaunch } from "../testing/launch/run.ts";

/** Starts a chain that mines blocks only on request. */
async function startStopped(t: TestContext): Promise<BareChain> {
  const chain = await startBareChain();
  t.after(chain.stop);
  await chain.client.setAutomine(false);
  return chain;
}

async function mineOn({ client }: BareChain): Promise<void> {
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
}

/** Resolves with the next transaction for which `wanted` returns true. */
const nextSend = (chain: BareChain, wanted: (raw: Hex) => boolean) =>
  new Promise<Hex>((resolve) =>
    chain.watch((call, forward) => {
      const raw = call.params[0] as Hex;
      if (call.method === "eth_sendRawTransaction" && wanted(raw)) resolve(raw);
      return forward();
    }),
  );

/**
 * Asserts that the launch succeeds, and that all transactions in the journal are mined. Also
 * asserts that the number of other transactions from the wallet is `others`.
 */
async function assertExecuted(
  chain: BareChain,
  done: ReturnType<typeof runLaunch>["done"],
  others = 0,
) {
  const launched = await done;
  assert.ok("outcome" in launched);
  assert.equal(launched.outcome, "executed");
  const { sent } = journalOf(chain);
  assert.equal(sent.filter(({ mined }) => mined?.succeeded).length, 8);
  assert.equal(sent.length, 8);
  assert.equal(await countSent(chain), 8 + others);
}

/**
 * Sends and mines a transaction from the launch's wallet, like another program that has the key.
 */
async function sendAside({ client, wallet }: BareChain, nonce: number): Promise<Hex> {
  const fee = parseGwei("50");
  const hash = await client.sendTransaction({
    ...{ account: privateKeyToAccount(anvilKeys[0]), to: wallet, nonce, gas: 21_000n },
    ...{ maxFeePerGas: fee, maxPriorityFeePerGas: fee },
  });
  await client.mine({ blocks: 1 });
  return hash;
}

function setMaxFee({ env }: BareChain, gwei: string): void {
  const [listed] = JSON.parse(readFileSync(env.CHAINS_FILE, "utf8"));
  writeFileSync(
    env.CHAINS_FILE,
    JSON.stringify([{ ...listed, maxFeePerGas: `${parseGwei(gwei)}` }]),
  );
}

describe("a launch on a chain that stops mining", () => {
  test("reports that mining stopped, and sends a lost transaction again", async (t) => {
    const chain = await startStopped(t);
    const run = runLaunch(chain);
    const [, hash] = /^sending (0x\w+)/.exec(await run.prints(/^sending /))!;
    const line = await run.prints(/^waiting for /);
    const head = await chain.client.getBlockNumber();
    const wanted = `\\(the deployer's funding, nonce 0\\): the chain has no block after ${head}\\.`;
    assert.match(line, new RegExp(`0x\\w+ ${wanted}`));
    const sent = nextSend(chain, () => true);
    await chain.client.dropTransaction({ hash: hash as Hex });
    assert.equal(await sent, journalOf(chain).sent[0]!.raw, "the same bytes");
    await mineOn(chain);
    await assertExecuted(chain, run.done);
  });

  test("reports the status of each transaction if it is resumed after Ctrl-C", async (t) => {
    const chain = await startStopped(t);
    const admin = resolve(import.meta.dirname, "../admin.ts");
    const args = [admin, "launch", "--chain", "base-sepolia", "--key-file", chain.keyFile];
    const child = spawn(process.execPath, args, { env: { ...process.env, ...chain.env } });
    child.stdout.resume();
    child.stderr.resume();
    chain.watch(async ({ method }, forward) => {
      const answer = await forward();
      if (method === "eth_sendRawTransaction") child.kill("SIGINT");
      return answer;
    });
    await once(child, "exit");
    chain.watch((_, forward) => forward());
    assert.equal(child.signalCode, "SIGINT");
    const resumed = async () => {
      const { done, lines } = runLaunch(chain, { isResume: true, isDryRun: true });
      await done;
      return lines.join("\n");
    };
    const what = "1 sent, 0 mined, 0 spent\n +0x\\w+ \\(the deployer's funding, nonce 0\\)";
    assert.match(await resumed(), new RegExp(`${what} waits in the mempool of the endpoint`));
    const { hash } = journalOf(chain).sent[0]!;
    await chain.client.dropTransaction({ hash });
    assert.match(await resumed(), new RegExp(`${what} is signed, but the endpoint does not have`));
    const other = await sendAside(chain, 0);
    assert.match(await resumed(), new RegExp(`${what} can never be mined: .* nonce`));

    await mineOn(chain);
    const run = runLaunch(chain, { isResume: true });
    assert.match(await run.prints(/^another program used nonce 0 /), new RegExp(other));
    await assertExecuted(chain, run.done, 1);
  });
});

describe("a launch whose fee is too low", () => {
  test("raises the fee if the base fee rises above it", async (t) => {
    const chain = await startStopped(t);
    const run = runLaunch(chain);
    await run.prints(/^sending /);
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("4") });
    await chain.client.mine({ blocks: 1 });
    const line = await run.prints(/^raised the fee from /);
    assert.match(line, /from 1\.\d+ gwei to [89]\.?\d* gwei: 0x\w+ \(.*, nonce 0\) replaces 0x/);
    assert.equal(await countSent(chain), 0);
    await mineOn(chain);
    await assertExecuted(chain, run.done);
  });

  test("waits if the base fee exceeds `maxFeePerGas`", async (t) => {
    const chain = await startStopped(t);
    setMaxFee(chain, "1.000000008");
    const run = runLaunch(chain);
    await run.prints(/^sending /);
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("4") });
    await chain.client.mine({ blocks: 1 });
    await run.prints(
      /the base fee is 4 gwei, and the highest allowed fee is 1\.000000008 gwei: the transaction w/,
    );
    const { sent } = journalOf(chain);
    assert.equal(sent.length, 1);
    assert.equal(parseTransaction(sent[0]!.raw).maxFeePerGas, parseGwei("1.000000008"));
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 7n });
    await mineOn(chain);
    await assertExecuted(chain, run.done);
  });

  test("waits if the wallet cannot pay the raised fee", onlyLong, async (t) => {
    const chain = await startStopped(t);
    const run = runLaunch(chain);
    await run.prints(/^sending /);
    const { client, wallet: address } = chain;
    const before = await client.getBalance({ address });
    await client.setBalance({ address, value: 10_100_000_000_000_000n });
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("4") });
    await client.mine({ blocks: 1 });
    await run.prints(
      / needs \d+ wei at [89]\S* gwei per gas, but the wallet has 10100000000000000 wei/,
    );
    await client.setBalance({ address, value: before });
    await run.prints(/^raised the fee from /);
    await mineOn(chain);
    await assertExecuted(chain, run.done);
  });
});

describe("a launch whose key is used by another program", () => {
  const isExecution = (raw: Hex) => `${parseTransaction(raw).to}` === factoryAddress.toLowerCase();

  test("stops with an error that names the other program's transaction", async (t) => {
    const chain = await startStopped(t);
    const run = runLaunch(chain);
    const [, own] = /^sending (0x\w+)/.exec(await run.prints(/^sending /))!;
    const other = await sendAside(chain, 0);
    const { number } = await chain.client.getBlock();
    await assert.rejects(run.done, {
      message: new RegExp(
        `another program used nonce 0 of the wallet ${chain.wallet} for ${other} in block ` +
          `${number}, so ${own} .* can never be mined`,
      ),
    });
    assert.equal(await countSent(chain), 1);
    await mineOn(chain);
    await assertExecuted(chain, runLaunch(chain).done, 1);
  });

  test("stops if the other program's transaction replaces the execution", onlyLong, async (t) => {
    const chain = await startBareChain();
    t.after(chain.stop);
    let isStopped = false;
    chain.watch(async ({ method, params }, forward) => {
      if (method === "eth_sendRawTransaction" && isExecution(params[0] as Hex) && !isStopped) {
        isStopped = true;
        await chain.client.setAutomine(false);
      }
      return forward();
    });
    const run = runLaunch(chain);
    await run.prints(/^waiting for 0x\w+ \(execution, nonce 7\)/);
    const other = await sendAside(chain, 7);
    await assert.rejects(run.done, { message: new RegExp(`nonce 7 .* for ${other}`) });
    await mineOn(chain);
    await assertExecuted(chain, runLaunch(chain).done, 1);
  });

  test(
    "uses the next nonce if the other program sends its transaction before the payment",
    onlyLong,
    async (t) => {
      const chain = await startBareChain();
      t.after(chain.stop);
      const { pay } = chain;
      chain.pay = async (address) => {
        await sendAside(chain, 7);
        await pay(address);
      };
      await assertExecuted(chain, runLaunch(chain).done, 1);
    },
  );
});
