// From nothing to a paid shop, on a local chain: the deployer, the factory, the demo contracts.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  keccak256,
  parseAbiParameters,
  parseEventLogs,
  parseTransaction,
  recoverTransactionAddress,
  size,
  type TransactionSerializedLegacy,
  zeroHash,
} from "viem";
import { bringDeployer, deployFactory } from "./deploy.ts";
import {
  closedCodeHash,
  demoShop,
  demoToken,
  deterministicDeployer,
  executedCodeHash,
  factoryAddress,
  factoryCodeHash,
  factoryCreationCode,
  factorySalt,
  paymentFactoryAbi,
  vaultCodeBytes,
} from "./index.ts";
import { addressOf, openChain, toFactory } from "./testing/local-chain.ts";

const bare = await openChain(["--hardfork", "prague", "--disable-default-create2-deployer"]);
after(() => bare.anvil.stop());

describe("the deterministic deployer", () => {
  test("its transaction was signed by nobody: the sender is what recovers from it", async () => {
    const { sender, fundingWei } = deterministicDeployer;
    const transaction = deterministicDeployer.transaction as TransactionSerializedLegacy;
    const recovered = await recoverTransactionAddress({ serializedTransaction: transaction });
    assert.equal(recovered, sender);
    const { gas, gasPrice } = parseTransaction(transaction);
    assert.equal(gas! * gasPrice!, fundingWei);
  });

  test("comes to a chain that lacks it by that transaction alone", async () => {
    const { address } = deterministicDeployer;
    assert.equal(await bare.client.getCode({ address }), undefined);
    await bringDeployer(bare.client);
    assert.ok(await bare.client.getCode({ address }));
  });
});

describe("the factory", () => {
  test("comes through the deployer to its address, with the code of the snapshot", async () => {
    assert.equal(await bare.client.getCode({ address: factoryAddress }), undefined);
    assert.equal(await deployFactory(bare.client), factoryAddress);
    const code = await bare.client.getCode({ address: factoryAddress });
    assert.equal(keccak256(code!), factoryCodeHash);
  });

  test("cannot be deployed there again", async () => {
    const data = concat([factorySalt, factoryCreationCode]);
    await assert.rejects(bare.send(deterministicDeployer.address, data), /reverted/);
  });

  test("is not sent again where it stands, nor is the deployer", async () => {
    const before = await bare.client.getBlockNumber();
    await bringDeployer(bare.client);
    assert.equal(await deployFactory(bare.client), factoryAddress);
    assert.equal(await bare.client.getBlockNumber(), before);
  });

  test("executes: the shop has the money, and the event says so", async () => {
    const token = await bare.deploy(demoToken.abi, demoToken.bytecode, ["Demo dollar", "DUSD", 6]);
    const shop = await bare.deploy(demoShop.abi, demoShop.bytecode, [token]);
    const amount = 5_000_000n;
    const args = (types: string, values: unknown[]) =>
      encodeAbiParameters(parseAbiParameters(types), values);
    const intent = {
      token,
      amount,
      calls: [
        {
          target: token,
          signature: "approve(address,uint256)",
          names: "spender,amount",
          args: args("address, uint256", [shop, amount]),
        },
        {
          target: shop,
          signature: "pay(uint256,uint256)",
          names: "orderId,amount",
          args: args("uint256, uint256", [42n, amount]),
        },
      ],
      expirationTimestamp: (await bare.client.getBlock()).timestamp + 3_600n,
      recovery: getAddress("0x00000000000000000000000000000000000c0ffe"),
      salt: zeroHash,
      chainId: 31337n,
    };
    const vault = await addressOf(bare, intent);
    const mint = { abi: demoToken.abi, functionName: "mint", args: [vault, amount + 1n] } as const;
    await bare.send(token, encodeFunctionData(mint));

    const { logs } = await bare.send(factoryAddress, toFactory("execute", [intent]));

    const [executed] = parseEventLogs({ abi: paymentFactoryAbi, logs, eventName: "Executed" });
    assert.deepEqual(executed!.args, { vault, token, held: amount + 1n, left: 1n });
    const [paid] = parseEventLogs({ abi: demoShop.abi, logs, eventName: "Paid" });
    assert.deepEqual(paid!.args, { orderId: 42n, payer: vault, amount });
    const order = [token, token, shop, factoryAddress].map((each) => each.toLowerCase());
    assert.deepEqual(
      logs.map((log) => log.address),
      order,
      "each tells after it took",
    );
    const balance = { abi: demoToken.abi, functionName: "balanceOf", args: [shop] } as const;
    assert.equal(await bare.client.readContract({ address: token, ...balance }), amount);
    const code = await bare.client.getCode({ address: vault });
    assert.equal(size(code!), vaultCodeBytes.executed);
    assert.equal(keccak256(code!), executedCodeHash);
  });

  test("closes: the code says that no call ran", async () => {
    const intent = {
      token: getAddress("0x00000000000000000000000000000000000abcde"),
      amount: 1n,
      calls: [],
      expirationTimestamp: 0n,
      recovery: getAddress("0x00000000000000000000000000000000000c0ffe"),
      salt: zeroHash,
      chainId: 31337n,
    };
    const vault = await addressOf(bare, intent);
    await bare.send(factoryAddress, toFactory("recover", [intent, []]));
    const code = await bare.client.getCode({ address: vault });
    assert.equal(size(code!), vaultCodeBytes.closed);
    assert.equal(keccak256(code!), closedCodeHash);
  });
});
