// Tests launches on chains without our contracts. Covers the cost estimate, the proof of the
// payment, and the checks before any coin is spent.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gasMargin, makeRecord, recoverCalldata, toHex } from "executable-address";
import { verifyReceipt } from "executable-address/proof";
import { deterministicDeployer, factoryAddress } from "executable-address-contracts";
import { anvilKeys } from "executable-address-contracts/anvil";
import { type Hex, parseEther } from "viem";
import { fiatTokenAbi, fiatTokenData } from "../../contracts/testing/fiat-token/place.ts";
import { lockDirectory } from "../store/sqlite/server-lock.ts";
import { type BareChain, startBareChain } from "../testing/launch/bare-chain.ts";
import { countSent, journalOf, journalPath, runLaunch } from "../testing/launch/run.ts";
import type { LaunchOptions } from "./parts.ts";

async function startChain(t: TestContext, hardfork?: "shanghai"): Promise<BareChain> {
  const chain = await startBareChain({ hardfork });
  t.after(chain.stop);
  return chain;
}

/**
 * Asserts that the launch fails with `message`, without sending a transaction or creating a file.
 */
async function assertRefused(chain: BareChain, message: RegExp, change?: Partial<LaunchOptions>) {
  await assert.rejects(runLaunch(chain, change).done, message);
  assert.equal(await countSent(chain), 0);
  assert.equal(existsSync(chain.config.dataDirectory), false);
}

describe("a launch spends nothing if", () => {
  test("the chain does not support the Cancun fork", async (t) => {
    const chain = await startChain(t, "shanghai");
    await assertRefused(chain, /does not support MCOPY/);
  });

  test("deploying the deterministic deployer needs too much gas", async (t) => {
    const chain = await startChain(t);
    const { sender } = deterministicDeployer;
    chain.watch(async ({ method, params }, forward) => {
      const { from } = (params[0] ?? {}) as { from?: string };
      const isKeyless =
        method === "eth_estimateGas" && from?.toLowerCase() === sender.toLowerCase();
      return isKeyless ? { result: "0x3d090" } : forward();
    });
    await assertRefused(chain, /needs 250000 gas, but its signed transaction allows 100000/);
  });

  test("the wallet has too little coin", async (t) => {
    const chain = await startChain(t);
    await chain.client.setBalance({ address: chain.wallet, value: parseEther("0.01") });
    const wallet = new RegExp(
      `the wallet ${chain.wallet} needs 0.0[0-9]+ of the native coin and has 0.01:`,
    );
    await assertRefused(chain, wallet);
  });

  test("a check of the endpoints fails", async (t) => {
    const chain = await startChain(t);
    await assertRefused(chain, /requires endpoints of two different providers, found 1/, {
      rpcUrls: [chain.rpcUrls[0]!],
    });
    chain.watch(({ method }, forward) =>
      method === "eth_getProof"
        ? Promise.resolve({ error: { code: -32601, message: "method not found" } })
        : forward(),
    );
    await assertRefused(chain, /no endpoint supports eth_getProof/);
    chain.watch(({ method }, forward) =>
      method === "eth_chainId" ? Promise.resolve({ result: "0x1" }) : forward(),
    );
    await assertRefused(chain, /expected an RPC endpoint of chain 84532, found chain 1/);
  });

  test("another launch on the chain uses the same DATA_DIR", async (t) => {
    const chain = await startChain(t);
    const { dataDirectory } = chain.config;
    mkdirSync(dataDirectory);
    const leave = lockDirectory(dataDirectory, "launch-84532.lock");
    const { done } = runLaunch(chain);
    await assert.rejects(
      done,
      /another launch on Base Sepolia \(testnet\) is running with DATA_DIR \//,
    );
    leave();
    assert.equal(await countSent(chain), 0);
  });

  test("an option does not match the chains file or the journal", async (t) => {
    const chain = await startChain(t);
    await assertRefused(chain, /--chain: expected one of base-sepolia, found sepolia/, {
      chainName: "sepolia",
    });
    await assertRefused(chain, /--resume: .*launch-84532.json is missing/, { isResume: true });
  });
});

/** Asserts that a launch fails if its address expires before it is paid. */
async function assertExpires(chain: BareChain) {
  const pay = async () => {
    await chain.client.increaseTime({ seconds: 400 * 86_400 });
    await chain.client.mine({ blocks: 1 });
  };
  const { done } = runLaunch({ ...chain, pay });
  await assert.rejects(done, /0x\w{40}: expected the state funded, found expired$/);
}

describe("a launch", () => {
  test("fails if the address expires before the payment arrives", async (t) => {
    const chain = await startChain(t);
    await assertExpires(chain);
  });

  test("spends nothing more if its address has expired or was recovered", async (t) => {
    const chain = await startChain(t);
    const { client, wallet, token } = chain;
    await assertExpires(chain);
    const { address, terms } = makeRecord(journalOf(chain).intent!);
    const sent = await countSent(chain);
    const balance = await client.getBalance({ address: wallet });
    const assertStops = async () => {
      const journal = "launch-84532\\.json to another folder.*`executable-address recover`$";
      const message = `the address ${address} expired without an execution\\..* move .*${journal}`;
      await assert.rejects(runLaunch(chain, { isResume: true }).done, new RegExp(message));
      assert.equal(await countSent(chain), sent);
      assert.equal(await client.getBalance({ address: wallet }), balance);
    };
    await assertStops();

    await chain.pay(address);
    const data = toHex(recoverCalldata(terms, [token]));
    await client.sendTransaction({ to: factoryAddress, data });
    await client.mine({ blocks: 1 });
    assert.ok(await client.getCode({ address }));
    await assertStops();
  });

  test("proves its payment, and its cost differs from the estimate by at most 10 %", async (t) => {
    const chain = await startChain(t);
    const before = await chain.client.getBalance({ address: chain.wallet });
    const dry = runLaunch(chain, { isDryRun: true });
    const planned = await dry.done;
    assert.equal(await countSent(chain), 0);
    assert.equal(existsSync(chain.config.dataDirectory), false);
    assert.match(dry.lines.join("\n"), /eth_getProof +yes +yes\nsimulation overrides +yes +yes/);

    const { done, lines } = runLaunch(chain);
    const launched = await done;
    const spent = before - (await chain.client.getBalance({ address: chain.wallet }));
    assert.ok("cost" in planned && "receipt" in launched);
    const ratio = Number(planned.cost.estimatedWei) / Number(spent);
    t.diagnostic(`estimated ${planned.cost.estimatedWei} wei, spent ${spent} wei: ${ratio}`);
    assert.ok(ratio > 0.9 && ratio < 1.1, `${ratio}`);
    // Most of the cost is the fixed amount that funds the deployer. So the test also compares the
    // gas costs.
    const { fundingWei } = deterministicDeployer;
    const gasRatio =
      Number(BigInt(planned.cost.estimatedWei) - fundingWei) / Number(spent - fundingWei);
    t.diagnostic(`estimated gas divided by used gas: ${gasRatio}`);
    assert.ok(gasRatio > 0.9 && gasRatio < 1.1, `${gasRatio}`);
    // The wallet must be able to pay the whole gas limit at the maximum fee.
    const { neededWei, estimatedWei } = planned.cost;
    const margin =
      Number(BigInt(neededWei) - fundingWei) / Number(BigInt(estimatedWei) - fundingWei);
    // The estimates are rounded to whole units, so `margin` can be slightly below `gasMargin *
    // 1.2`.
    assert.ok(margin > gasMargin * 1.2 - 1e-6, `${margin}`);
    assert.equal(parseEther(launched.spent), spent);
    // The eight transactions: the deployer's funding, the factory, five other contracts, and the
    // execution. The payment is not counted, because the payer sends it.
    assert.equal(await countSent(chain), 8);

    assert.equal(launched.outcome, "executed");
    const receipt = JSON.parse(readFileSync(launched.receipt, "utf8"));
    const { block, payments } = verifyReceipt(receipt, "its own");
    assert.equal(
      (await chain.client.getBlock({ blockHash: block.hash })).number,
      BigInt(block.number),
    );
    assert.equal(payments.length, 1);
    const said = lines.join("\n");
    assert.match(said, /Proven with 2 of 2 endpoints/);
    assert.match(said, new RegExp(`Send 0\\.01 USDC on .*, token ${chain.token}, to\\n`, "i"));
    assert.match(said, /https:\/\/explorer\.example\/tx\/0x[0-9a-f]{64}/);
    const journal = readFileSync(join(chain.config.dataDirectory, "launch-84532.json"), "utf8");
    for (const text of [said, JSON.stringify(launched), journal]) {
      assert.ok(!text.includes(anvilKeys[0].slice(2)));
    }

    const again = runLaunch(chain, { isResume: true });
    assert.deepEqual(
      await again.done.then((result) => "outcome" in result && result.outcome),
      "executed",
    );
    assert.match(
      again.lines.join("\n"),
      /8 sent, 8 mined.*\n +contracts +all deployed\n.*, executed\n/,
    );
    assert.equal(await countSent(chain), 8);
  });
});

describe("a launch that starts while another launch is running", () => {
  /** Starts a second launch, which reads the journal before `first` is the journal's content. */
  function startSecond(chain: BareChain, first: string) {
    rmSync(journalPath(chain));
    chain.watch((_, forward) => {
      if (!existsSync(journalPath(chain))) writeFileSync(journalPath(chain), first);
      return forward();
    });
    return runLaunch(chain);
  }

  test("continues with the other launch's address and sends nothing again", async (t) => {
    const chain = await startChain(t);
    await runLaunch(chain).done;
    const first = readFileSync(journalPath(chain), "utf8");
    const launched = await startSecond(chain, first).done;
    assert.ok("outcome" in launched);
    assert.equal(launched.outcome, "executed");
    assert.equal(await countSent(chain), 8);
    assert.deepEqual(journalOf(chain), JSON.parse(first));
  });

  test("fails if the other launch uses another wallet", async (t) => {
    const chain = await startChain(t);
    await runLaunch(chain).done;
    const wallet = "0x00000000000000000000000000000000000000aA";
    const first = JSON.stringify({ ...journalOf(chain), wallet });
    const { done } = startSecond(chain, first);
    await assert.rejects(done, new RegExp(`by the wallet ${wallet}, but .* use the same chain`));
    assert.equal(readFileSync(journalPath(chain), "utf8"), first);
    assert.equal(await countSent(chain), 8);
  });
});

describe("a launch while USDC rejects the execution", () => {
  const { pause, unpause, block, unblock } = fiatTokenData;

  /** Sends a transaction from the owner of USDC, without waiting until it is mined. */
  const send = ({ client, token: to }: BareChain, data: Hex) =>
    client.sendTransaction({ to, data, gas: 100_000n });

  /** Changes the USDC contract in the block of the payment, and therefore before any execution. */
  function changeWithPayment(chain: BareChain, data: Hex) {
    const { pay, client } = chain;
    chain.pay = async (address) => {
      await client.setAutomine(false);
      const paid = pay(address);
      while ((await client.getTxpoolStatus()).pending === 0) await sleep(5);
      await send(chain, data);
      await client.setAutomine(true);
      await client.mine({ blocks: 1 });
      await paid;
    };
  }

  /**
   * Asserts that a launch fails twice while USDC rejects transfers. The payment must stay at the
   * address. After `undo`, the launch must succeed.
   */
  async function assertWaits(chain: BareChain, change: Hex, undo: Hex, reason: string) {
    changeWithPayment(chain, change);
    const rejected = `the execution would revert with "${reason}" and was not sent: the payment`;
    await assert.rejects(runLaunch(chain).done, new RegExp(rejected));
    await assert.rejects(runLaunch(chain).done, new RegExp(rejected));
    assert.equal(await countSent(chain), 7, "all contracts are deployed, and nothing else is sent");

    await send(chain, undo);
    const launched = await runLaunch(chain).done;
    assert.ok("outcome" in launched);
    assert.equal(launched.outcome, "executed");
    assert.equal(await countSent(chain), 8);
    const { client, token, wallet } = chain;
    const read = { address: token, abi: fiatTokenAbi, functionName: "balanceOf" } as const;
    assert.equal(await client.readContract({ ...read, args: [wallet] }), 10_000n);
  }

  test("reports that USDC is paused, and succeeds later", async (t) => {
    const chain = await startChain(t);
    await assertWaits(chain, pause, unpause, "Pausable: paused");
  });

  test("reports that USDC is paused, even if the address cannot be read afterwards", async (t) => {
    const chain = await startChain(t);
    changeWithPayment(chain, pause);
    let isCut = false;
    chain.watch(async ({ method }, forward, index) => {
      if (isCut && index === 1) return { error: { code: -32000, message: "header not found" } };
      const answer = await forward();
      isCut ||= method === "eth_estimateGas" && "error" in answer;
      return answer;
    });
    await assert.rejects(runLaunch(chain).done, /would revert with "Pausable: paused" and was not/);
    assert.ok(isCut);
  });

  test("reports that USDC blocks the wallet, and succeeds later", async (t) => {
    const chain = await startChain(t);
    const [blocked, unblocked] = [block(chain.wallet), unblock(chain.wallet)];
    await assertWaits(chain, blocked, unblocked, "Blacklistable: account is blacklisted");
  });
});
