// Tests contracts that continue after an inner call has run out of gas. The service and the
// executor are unmodified. The executor uses the lowest gas limit at which a node reports no
// revert. At this limit, the inner calls must still get enough gas.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import {
  type AddressRecord,
  encodeCall,
  encodeExecution,
  type Hex,
  type Intent,
  makeRecord,
  toHex,
} from "executable-address";
import { demoToken, factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { decodeErrorResult, getAddress, numberToHex, parseAbi } from "viem";
import { end } from "../scripts/child-process.ts";
import { readDemo } from "../scripts/demo.ts";
import { demoTokens, localChainId, localWallet, payerAccount } from "../scripts/local-chain.ts";
import { deployOdd } from "../service/testing/chain/odd-contracts.ts";
import { environment, executedAt, start } from "./start/npm-start.ts";

const folder = await mkdtemp(join(tmpdir(), "executable-address-targets-"));
const { child, said } = await start(await environment(folder));
after(async () => {
  await end(child, "SIGINT");
  await rm(folder, { recursive: true });
});
const demo = readDemo(folder);
if (!demo) throw new Error(said);
const { baseUrl, rpcUrl, apiKey } = demo;
const client = localWallet(rpcUrl, payerAccount);

const token = getAddress(demoTokens[0]!.address);
const amount = 1_000_000n;
const inner = parseAbi([
  "function worker() view returns (address)",
  "function done() view returns (uint256)",
]);
const functions = {
  TryCatch: "pay(address token, uint256 amount)",
  Multicall: "tryAggregate(address token, uint256 amount, address[] targets)",
  Bridge: "deliver(address token, uint256 amount)",
  Hooked: "deposit(address token, uint256 amount)",
  Aggregator: "swap(address token, uint256 amount)",
};

type Target = { name: string; address: Hex; worker: Hex; intent: Omit<Intent, "salt"> };

const targets: Target[] = [];
for (const [name, called] of Object.entries(functions)) targets.push(await bring(name, called));

describe("contracts that ignore failed inner calls", () => {
  for (const [index, target] of targets.entries()) {
    test(`an execution that calls ${target.name} reverts if the gas limit is too low`, async () => {
      // The service does not know this address, so only the test executes it.
      const record = makeRecord({ ...target.intent, salt: numberToHex(index, { size: 32 }) });
      await mint(record.address);
      await mint(payerAccount.address);
      const gas = await leastContent(target, record);
      // Control: at this gas limit, a direct call takes the payment, but the target does no work.
      for (const call of record.intent.calls) {
        assert.equal(await send(call.target, toHex(encodeCall(call)), gas), "success");
      }
      assert.equal(await balanceOf(target.address), amount);
      assert.equal(await doneBy(target), 0n, "it is not starved");

      assert.equal(await send(factoryAddress, executionOf(record), gas), "reverted");
      assert.equal(await balanceOf(target.address), amount);
      assert.equal(await balanceOf(record.address), amount);
    });
  }

  test("the executor provides enough gas for all inner calls", async () => {
    const paid: { target: Target; address: Hex }[] = [];
    for (const target of targets) {
      const { findings } = (await post("check", target.intent)) as { findings: unknown };
      assert.deepEqual(findings, [], target.name);
      const { address } = (await post("create", target.intent)) as AddressRecord;
      await mint(address);
      paid.push({ target, address });
    }
    for (const { target, address } of paid) {
      assert.equal(await executedAt(`${baseUrl}/address/${address}/events`), true);
      assert.equal(await doneBy(target), 40n, `the work of ${target.name}`);
      assert.equal(await balanceOf(target.address), 2n * amount, target.name);
      assert.equal(await balanceOf(address), 0n, target.name);
    }
  });
});

/** Deploys the target `name` and returns an intent that pays it. */
async function bring(name: string, called: string): Promise<Target> {
  const address = await deployOdd({ client }, name, "Tolerants");
  const worker = await client.readContract({ address, abi: inner, functionName: "worker" });
  const approve = { target: token, function: "approve(address spender, uint256 amount)" };
  const more = called.includes("[]") ? [JSON.stringify([worker])] : [];
  const calls = [
    { ...approve, args: [address, String(amount)] },
    { target: address, function: called, args: [token, String(amount), ...more] },
  ];
  const expirationTimestamp = Math.floor(Date.now() / 1000) + 3600;
  const recovery = getAddress(`0x${"5".repeat(40)}`);
  const shared = { token, amount: String(amount), recovery, chainId: localChainId };
  return { name, address, worker, intent: { ...shared, calls, expirationTimestamp } };
}

const doneBy = ({ worker }: Target) =>
  client.readContract({ address: worker, abi: inner, functionName: "done" });

const balanceOf = (holder: Hex) =>
  client.readContract({ ...demoToken, address: token, functionName: "balanceOf", args: [holder] });

async function mint(to: Hex): Promise<void> {
  const call = { address: token, abi: demoToken.abi, functionName: "mint" } as const;
  const hash = await client.writeContract({ ...call, args: [to, amount] });
  await client.waitForTransactionReceipt({ hash });
}

const executionOf = ({ intent }: AddressRecord) => toHex(encodeExecution(intent));

/**
 * Returns the lowest gas limit at which all calls succeed and only the factory's gas check fails.
 * Without the gas check, a gas estimate would be close to this limit. The limit is a multiple of
 * 10,000.
 */
async function leastContent({ name, address }: Target, record: AddressRecord): Promise<bigint> {
  for (let gas = 100_000n; gas < 2_000_000n; gas += 10_000n) {
    const call = { from: payerAccount.address, to: factoryAddress, data: executionOf(record) };
    const reason = await revertOf({ ...call, gas: numberToHex(gas) });
    assert.ok(reason, `${name} is executed with ${gas} gas and was never refused`);
    if (reason === "0x") continue;
    const { errorName, args } = decodeErrorResult({ abi: paymentFactoryAbi, data: reason });
    if (errorName === "TooLittleGas" && args[1] === address) return gas;
  }
  throw new Error(`${name} is never content`);
}

/** Asks the node for the error of `call`. Returns undefined if the call succeeds. */
async function revertOf(call: object): Promise<Hex | undefined> {
  const question = { jsonrpc: "2.0", id: 1, method: "eth_call", params: [call, "latest"] };
  const headers = { "content-type": "application/json" };
  const response = await fetch(rpcUrl, { method: "POST", headers, body: JSON.stringify(question) });
  const { error } = (await response.json()) as { error?: { data?: Hex } };
  return error && (error.data ?? "0x");
}

async function send(to: Hex, data: Hex, gas: bigint) {
  const hash = await client.sendTransaction({ to, data, gas });
  const { status } = await client.waitForTransactionReceipt({ hash });
  return status;
}

async function post(what: "check" | "create", intent: object): Promise<unknown> {
  const response = await fetch(`${baseUrl}/address/${what}`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(intent),
  });
  assert.equal(response.status, 200);
  return response.json();
}
