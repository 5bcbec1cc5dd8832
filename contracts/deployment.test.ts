// Tests the deployment of the deployer, the factory, the demo contracts, and a shop on a local
// chain.

import assert from "node:assert/strict";
import { after, describe, type TestContext, test } from "node:test";
import {
  concat,
  createWalletClient,
  custom,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  parseAbiParameters,
  parseEventLogs,
  parseTransaction,
  recoverTransactionAddress,
  size,
  type TransactionSerializedLegacy,
  zeroHash,
} from "viem";
import { anvilChain } from "./anvil.ts";
import { bringDeployer, create2Address, deployFactory, deployOnce } from "./deploy.ts";
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
  periphery,
  vaultCodeBytes,
} from "./index.ts";
import { addressOf, type Chain, openChain, toFactory } from "./testing/local-chain.ts";

const bare = await openChain(["--hardfork", "prague", "--disable-default-create2-deployer"]);
after(() => bare.anvil.stop());

describe("the deterministic deployer", () => {
  test("the signature of the deployment transaction recovers to its sender", async () => {
    const { sender, fundingWei, gasMax } = deterministicDeployer;
    const transaction = deterministicDeployer.transaction as TransactionSerializedLegacy;
    const recovered = await recoverTransactionAddress({ serializedTransaction: transaction });
    assert.equal(recovered, sender);
    const { gas, gasPrice } = parseTransaction(transaction);
    assert.deepEqual([gas, gasPrice], [gasMax, deterministicDeployer.gasPrice]);
    assert.equal(gasMax * deterministicDeployer.gasPrice, fundingWei);
  });

  test("the presigned transaction deploys the deployer", async () => {
    const { address } = deterministicDeployer;
    assert.equal(await bare.client.getCode({ address }), undefined);
    await bringDeployer(bare.client);
    assert.equal(await bare.client.getCode({ address }), deterministicDeployer.code);
  });
});

describe("a chain without the deployer", () => {
  const { address, sender: keylessSender } = deterministicDeployer;
  const open = async (t: TestContext, args: string[] = []) => {
    const chain = await openChain(["--disable-default-create2-deployer", ...args]);
    t.after(() => chain.anvil.stop());
    return chain;
  };
  /**
   * Checks that nothing was sent: balance and nonce of the sender are zero, and no block was mined.
   * The deployment is therefore still possible.
   */
  const assertUnspent = async ({ client }: Chain) => {
    assert.equal(await client.getBalance({ address: keylessSender }), 0n);
    assert.equal(await client.getTransactionCount({ address: keylessSender }), 0);
    assert.equal(await client.getBlockNumber(), 0n);
  };

  test("bringDeployer spends nothing if the deployment would fail", async (t) => {
    const chain = await open(t);
    // CREATE burns all its gas if the nonce of the new address is not zero.
    await chain.client.setNonce({ address, nonce: 1 });
    await assert.rejects(bringDeployer(chain.client), /would fail.*EIP-7997.*genesis/s);
    await assertUnspent(chain);
  });

  test("bringDeployer throws if the deployment needs more than 100,000 gas", async (t) => {
    const chain = await open(t);
    const client = changed(chain, { eth_estimateGas: async () => "0x29c90" });
    const wanted = /needs 171152 gas, but its signed transaction allows 100000.*EIP-7997/s;
    await assert.rejects(bringDeployer(client), wanted);
    await assertUnspent(chain);
  });

  test("bringDeployer throws if the base fee exceeds the signed gas price", async (t) => {
    const chain = await open(t, ["--base-fee", "100000000001"]);
    await assert.rejects(
      bringDeployer(chain.client),
      /base fee is 100000000001 wei.*100000000000/s,
    );
    await assertUnspent(chain);
  });

  test("bringDeployer throws if the deployment has already failed", async (t) => {
    const chain = await open(t);
    await chain.client.setNonce({ address: keylessSender, nonce: 1 });
    await assert.rejects(bringDeployer(chain.client), /was already sent.*EIP-7997.*genesis/s);
    assert.equal(await chain.client.getBalance({ address: keylessSender }), 0n);
  });

  test("bringDeployer throws if the transaction that funds the deployment fails", async (t) => {
    const client = changed(await open(t), { eth_getTransactionReceipt: failing });
    const wanted = new RegExp(`^Error: ${keylessSender} was not funded: 0x\\w{64} failed$`);
    await assert.rejects(bringDeployer(client), wanted);
  });

  test("bringDeployer throws if the node rejects the deployment's transaction", async (t) => {
    const chain = await open(t);
    const message = "only replay-protected transactions allowed";
    const client = changed(chain, {
      eth_sendRawTransaction: () => Promise.reject({ code: -32_000, message }),
    });
    const wanted = new RegExp(`transaction was rejected: ${message}\\. Ask .*EIP-7997`);
    await assert.rejects(bringDeployer(client), wanted);
    assert.equal(await chain.client.getTransactionCount({ address: keylessSender }), 0);
  });

  test("bringDeployer throws if the deployment's transaction fails", async (t) => {
    const chain = await open(t);
    const { fundingWei: value } = deterministicDeployer;
    await chain.client.setBalance({ address: keylessSender, value });
    const client = changed(chain, { eth_getTransactionReceipt: failing });
    const wanted = /not created: 0x\w{64} failed and cannot be repeated\. Ask .*EIP-7997/;
    await assert.rejects(bringDeployer(client), wanted);
  });

  test("bringDeployer throws if another contract is at the address", async (t) => {
    const chain = await open(t);
    await chain.client.setCode({ address, bytecode: "0x00" });
    await assert.rejects(
      bringDeployer(chain.client),
      /: expected the deterministic deployer's code with the hash 0x\w{64}, found 0x\w{64}: /,
    );
    await assertUnspent(chain);
  });

  test("deployFactory sends nothing if the deployer is missing", async (t) => {
    const chain = await open(t);
    await assert.rejects(deployFactory(chain.client), /0x4e59.* has no code/);
    assert.equal(await chain.client.getBlockNumber(), 0n);
  });
});

type Asked = { method: string; params?: unknown };
type Change = (forward: () => Promise<unknown>, asked: Asked) => Promise<unknown>;

/** Returns a client of the chain. `changes` can change the node's responses to some methods. */
const changed = ({ client }: Chain, changes: Readonly<Record<string, Change>>) =>
  createWalletClient({
    account: client.account,
    chain: anvilChain,
    transport: custom({
      request(asked: Asked) {
        const forward = () => client.request(asked as never) as Promise<unknown>;
        return changes[asked.method]?.(forward, asked) ?? forward();
      },
    }),
    pollingInterval: 5,
  });

/** Reports that each mined transaction has failed. */
const failing: Change = async (forward) => {
  const receipt = await forward();
  return receipt && { ...receipt, status: "0x0" };
};

describe("the factory", () => {
  test("the deployer creates the factory with the expected address and code", async () => {
    assert.equal(await bare.client.getCode({ address: factoryAddress }), undefined);
    assert.equal(await deployFactory(bare.client), factoryAddress);
    const code = await bare.client.getCode({ address: factoryAddress });
    assert.equal(keccak256(code!), factoryCodeHash);
  });

  test("the factory cannot be deployed again at its address", async () => {
    const data = concat([factorySalt, factoryCreationCode]);
    await assert.rejects(bare.send(deterministicDeployer.address, data), /reverted/);
  });

  test("deployFactory sends nothing if the factory already exists", async () => {
    const before = await bare.client.getBlockNumber();
    await bringDeployer(bare.client);
    assert.equal(await deployFactory(bare.client), factoryAddress);
    assert.equal(await bare.client.getBlockNumber(), before);
  });

  test("deployOnce throws if the constructor reverts", async () => {
    // The constructor's arguments are missing.
    const address = create2Address(demoToken.bytecode);
    const wanted = new RegExp(`^Error: ${address} was not created: 0x\\w{64} failed$`);
    await assert.rejects(deployOnce(bare.client, demoToken.bytecode), wanted);
  });

  test("deployOnce throws if the address has no code after a successful transaction", async () => {
    const { bytecode } = periphery.tip;
    const address = create2Address(bytecode);
    const client = changed(bare, {
      eth_getCode: async (forward, { params }) =>
        (params as Hex[])[0] === address ? "0x" : forward(),
    });
    const wanted = new RegExp(`^Error: ${address} has no code, although 0x\\w{64} succeeded$`);
    await assert.rejects(deployOnce(client, bytecode), wanted);
  });

  test("an execution pays the shop and emits an event with the balances", async () => {
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

  test("a recovered vault has the code of a closed vault", async () => {
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
