// Tests the main purpose of the project on a real chain. An intent becomes an address. A payment
// makes the calls possible. Money that the calls do not use is returned. No executor runs. The test
// sends each transaction, as anyone could.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeExecution, toHex, verifyRecord } from "executable-address";
import {
  demoShop,
  demoToken,
  factoryAddress,
  paymentFactoryAbi,
} from "executable-address-contracts";
import {
  type ContractFunctionArgs,
  decodeFunctionData,
  type Hex,
  parseEther,
  parseEventLogs,
  zeroAddress,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import {
  demoTokens,
  executorAccount,
  localChainId,
  localWallet,
  payerAccount,
  shopAddress,
} from "../scripts/local-chain.ts";
import { type Running, startService } from "./service.ts";

const [dollar, coin] = demoTokens.map((token) => token.address) as [Hex, Hex];
const amount = 25_000_000n;

let running: Running;
let payer: ReturnType<typeof localWallet>;
let executor: ReturnType<typeof localWallet>;
let nextOrder = 1n;

before(async () => {
  running = await startService();
  payer = localWallet(running.anvil.rpcUrl, payerAccount);
  executor = localWallet(running.anvil.rpcUrl, executorAccount);
});
after(() => running.stop());

/** Creates an address for a new order over HTTP and verifies the response. */
async function createOrder(expirySeconds = 3600) {
  const recovery = privateKeyToAccount(generatePrivateKey()).address;
  const orderId = nextOrder++;
  const { timestamp } = await payer.getBlock();
  const response = await fetch(`${running.baseUrl}/address/create`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${running.apiKey}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({
      token: dollar,
      amount: String(amount),
      calls: [
        {
          target: dollar,
          function: "approve(address spender, uint256 amount)",
          args: [shopAddress, String(amount)],
        },
        {
          target: shopAddress,
          function: "pay(uint256 orderId, uint256 amount)",
          args: [String(orderId), String(amount)],
        },
      ],
      expirationTimestamp: Number(timestamp) + expirySeconds,
      recovery,
      chainId: localChainId,
    }),
  });
  const body = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  return { ...verifyRecord(body, { factory: factoryAddress }), orderId };
}

type Order = Awaited<ReturnType<typeof createOrder>>;

const settled = async (hash: Hex) => {
  const receipt = await payer.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, "success");
  return receipt;
};

const pay = async (to: Hex, value: bigint, token = dollar) =>
  settled(
    await payer.writeContract({
      address: token,
      abi: demoToken.abi,
      functionName: "mint",
      args: [to, value],
    }),
  );

const execute = async ({ intent }: Order) =>
  settled(
    await executor.sendTransaction({ to: factoryAddress, data: toHex(encodeExecution(intent)) }),
  );

/** Returns the intent as an argument for the contract's ABI. */
const structOf = (intent: Order["intent"]) => {
  const data = toHex(encodeExecution(intent));
  const call = decodeFunctionData({ abi: paymentFactoryAbi, data });
  assert.equal(call.functionName, "execute");
  return call.args[0] as ContractFunctionArgs<typeof paymentFactoryAbi, "nonpayable", "execute">[0];
};

const recover = async ({ intent }: Order, tokens: Hex[]) =>
  settled(
    await executor.writeContract({
      address: factoryAddress,
      abi: paymentFactoryAbi,
      functionName: "recover",
      args: [structOf(intent), tokens],
    }),
  );

const balanceOf = (account: Hex, token = dollar) =>
  payer.readContract({
    address: token,
    abi: demoToken.abi,
    functionName: "balanceOf",
    args: [account],
  });

/** Returns the total that the shop received for the order. */
const paidFor = async (order: Order) => {
  const logs = await payer.getContractEvents({
    address: shopAddress,
    abi: demoShop.abi,
    eventName: "Paid",
    args: { orderId: order.orderId },
    fromBlock: 0n,
  });
  return logs.reduce((sum, { args }) => sum + (args.amount ?? 0n), 0n);
};

const expire = async () => {
  await payer.request({ method: "evm_increaseTime" as never, params: [7200] as never });
  await payer.request({ method: "evm_mine" as never });
};

describe("paying and executing an address", () => {
  test("an address cannot be executed before the full amount arrives", async () => {
    const order = await createOrder();
    await pay(order.address, amount - 1n);
    await assert.rejects(execute(order));
    assert.equal(await paidFor(order), 0n);
    assert.equal(await balanceOf(order.address), amount - 1n);
  });

  test("a paid address executes once and pays the shop", async () => {
    const order = await createOrder();
    await pay(order.address, amount);
    const { logs } = await execute(order);
    const [event] = parseEventLogs({ abi: paymentFactoryAbi, logs, eventName: "Executed" });
    assert.deepEqual(event?.args, { vault: order.address, token: dollar, held: amount, left: 0n });
    assert.equal(await paidFor(order), amount);
    await assert.rejects(execute(order));
    assert.equal(await paidFor(order), amount);
  });

  test("an executed address returns excess and later payments", async () => {
    const order = await createOrder();
    await pay(order.address, amount + 7n);
    await pay(order.address, 5n, coin);
    await execute(order);
    await pay(order.address, 11n);
    await settled(await payer.sendTransaction({ to: order.address, value: parseEther("0.5") }));
    await recover(order, [dollar, coin, zeroAddress]);
    const { recovery } = order.intent;
    assert.equal(await balanceOf(recovery), 18n);
    assert.equal(await balanceOf(recovery, coin), 5n);
    assert.equal(await payer.getBalance({ address: recovery }), parseEther("0.5"));
    assert.equal(await paidFor(order), amount);
  });

  test("a wrong token can be returned after the expiry", async () => {
    const order = await createOrder();
    await pay(order.address, 5n, coin);
    await assert.rejects(recover(order, [coin]));
    await expire();
    await recover(order, [coin]);
    assert.equal(await balanceOf(order.intent.recovery, coin), 5n);
  });

  test("an unexecuted address returns everything after expiry", async () => {
    const order = await createOrder();
    await pay(order.address, amount);
    await expire();
    await assert.rejects(execute(order));
    await recover(order, [dollar]);
    assert.equal(await balanceOf(order.intent.recovery), amount);
    await pay(order.address, amount);
    await assert.rejects(execute(order));
    await recover(order, [dollar]);
    assert.equal(await balanceOf(order.intent.recovery), 2n * amount);
    assert.equal(await paidFor(order), 0n);
  });
});

describe("GET /address/{address}", () => {
  test("returns 404 if the address is unknown", async () => {
    const response = await fetch(`${running.baseUrl}/address/${payerAccount.address}`);
    assert.equal(response.status, 404);
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, "not_found");
  });

  test("returns the record without a credential", async () => {
    const { address, terms } = await createOrder();
    const upper = `0x${address.slice(2).toUpperCase()}`;
    const response = await fetch(`${running.baseUrl}/address/${upper}`);
    const record = verifyRecord(await response.json(), { factory: factoryAddress });
    assert.equal(record.terms, terms);
    const derived = await payer.readContract({
      address: factoryAddress,
      abi: paymentFactoryAbi,
      functionName: "addressOf",
      args: [terms],
    });
    assert.equal(derived, address);
  });
});
