// Starts a chain with the factory and a token. Returns functions that pay, execute, and recover
// addresses, and that mine and replace blocks.

import { setTimeout as sleep } from "node:timers/promises";
import {
  type AddressRecord,
  encodeExecution,
  type Hex,
  type Intent,
  makeRecord,
} from "executable-address";
import { demoToken, factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { bringDeployer, deployFactory } from "executable-address-contracts/deploy";
import {
  createTestClient,
  decodeAbiParameters,
  encodeFunctionData,
  getAbiItem,
  getAddress,
  http,
  publicActions,
  toHex,
  walletActions,
} from "viem";
import { anvilChain } from "../../../contracts/anvil.ts";
import { startLocalNode } from "../../../contracts/testing/local-node.ts";
import { openChainRpc } from "../../chain/rpc/chain-rpc.ts";

export const payer: Hex = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
export const recovery: Hex = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const shop: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

export type World = Awaited<ReturnType<typeof startWorld>>;

/** @param chainId the ID of the chain, which the intents also use */
export async function startWorld(chainId: number = anvilChain.id, hardfork?: "prague" | "osaka") {
  const node = await startLocalNode({ chainId, ...(hardfork && { hardfork }) });
  return { ...(await settle(node.rpcUrl, chainId)), stop: node.stop };
}

async function settle(rpcUrl: string, chainId: number) {
  const client = clientOf(rpcUrl, chainId);
  const send = async (to: Hex | undefined, data: Hex, value = 0n, gas = 3_000_000n) => {
    const hash = await client.sendTransaction({ to: to ?? null, data, value, gas });
    const receipt = await client.waitForTransactionReceipt({ hash });
    if (receipt.status !== "success") throw new Error(`${hash} reverted`);
    return receipt;
  };

  await bringDeployer(client);
  await deployFactory(client);
  const newToken = async (symbol = "DMO") => {
    const { abi, bytecode } = demoToken;
    const hash = await client.deployContract({ abi, bytecode, args: ["Demo", symbol, 6] });
    const { contractAddress } = await client.waitForTransactionReceipt({ hash });
    return getAddress(contractAddress!);
  };
  const token = await newToken();
  let contracts = 0x61_0000n;

  return {
    rpcUrl,
    client,
    token,
    /** The chain's configuration, for the service's functions that read a status. */
    chain: {
      chainId,
      factory: factoryAddress,
      rpc: openChainRpc([rpcUrl]),
      tokens: [],
    },
    newToken,
    /** Sets `bytecode` as the code of a new address, and returns the address. */
    async withCode(bytecode: Hex): Promise<Hex> {
      const address = getAddress(toHex(++contracts, { size: 20 }));
      await client.setCode({ address, bytecode });
      return address;
    },
    balanceOf: (owner: Hex) =>
      client.readContract({
        address: token,
        abi: demoToken.abi,
        functionName: "balanceOf",
        args: [owner],
      }),
    newRecord: recordMaker(client, token),
    pay: (to: Hex, amount: bigint, paid: Hex = token) =>
      send(
        paid,
        encodeFunctionData({ abi: demoToken.abi, functionName: "mint", args: [to, amount] }),
      ),
    payNative: (to: Hex, wei: bigint) => send(to, "0x", wei),
    execute: (record: AddressRecord, gas?: bigint) =>
      send(factoryAddress, toHex(encodeExecution(record.intent)), 0n, gas),
    recover: (record: AddressRecord, tokens: Hex[]) =>
      send(factoryAddress, recoverData(record, tokens)),
    ...minerOf(client),
  };
}

type ChainClient = ReturnType<typeof clientOf>;

const clientOf = (rpcUrl: string, chainId: number) =>
  createTestClient({
    account: payer,
    chain: { ...anvilChain, id: chainId },
    mode: "hardhat",
    transport: http(rpcUrl),
    pollingInterval: 10,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions);

/**
 * Returns a function that creates records. By default, the intent pays 100 units to the shop, and
 * expires one hour after the newest block.
 */
function recordMaker(client: ChainClient, token: Hex) {
  let salts = 0n;
  return async (change: Partial<Intent> = {}): Promise<AddressRecord> => {
    const { timestamp } = await client.getBlock();
    const amount = change.amount ?? "100";
    const args = [shop, amount];
    const call = { target: token, function: "transfer(address to, uint256 amount)", args };
    const intent = {
      token,
      amount,
      calls: [call],
      expirationTimestamp: Number(timestamp) + 3600,
      recovery,
      salt: toHex(++salts, { size: 32 }),
      chainId: client.chain.id,
      ...change,
    };
    return makeRecord(intent, { factory: factoryAddress });
  };
}

/** Returns functions that mine and replace blocks. */
const minerOf = (client: ChainClient) => ({
  /** Mines a block whose timestamp is exactly `timestamp`. */
  async mineAt(timestamp: number) {
    await client.setNextBlockTimestamp({ timestamp: BigInt(timestamp) });
    await client.mine({ blocks: 1 });
  },
  mine: (blocks: number) => client.mine({ blocks }),
  /**
   * Replaces the newest block. The new block has a different hash, because its timestamp is one
   * second later.
   */
  async replaceHead() {
    const { timestamp } = await client.getBlock();
    await client.request({ method: "anvil_rollback" as never, params: [1] as never });
    await client.setNextBlockTimestamp({ timestamp: timestamp + 1n });
    await client.mine({ blocks: 1 });
  },
  /** Replaces the last `depth` blocks with the same number of empty blocks. */
  async reorg(depth: number) {
    const head = await client.getBlockNumber();
    await client.request({ method: "anvil_reorg" as never, params: [depth, []] as never });
    while ((await client.getBlockNumber()) < head) await sleep(5);
  },
});

const intentInput = getAbiItem({ abi: paymentFactoryAbi, name: "execute" }).inputs;

/** Returns calldata for `recover`. */
export function recoverData(record: AddressRecord, tokens: Hex[]): Hex {
  const [intent] = decodeAbiParameters(intentInput, record.terms);
  return encodeFunctionData({
    abi: paymentFactoryAbi,
    functionName: "recover",
    args: [intent, tokens],
  });
}

/**
 * Returns calldata for `rescue`. This function makes the vault call the intent's token with the
 * calldata `data`.
 */
export function rescueData({ terms, intent: { token } }: AddressRecord, data: Hex): Hex {
  const [intent] = decodeAbiParameters(intentInput, terms);
  const args = [intent, token, 0n, data] as const;
  return encodeFunctionData({ abi: paymentFactoryAbi, functionName: "rescue", args });
}

export const transferData = (to: Hex, amount: bigint): Hex =>
  encodeFunctionData({ abi: demoToken.abi, functionName: "transfer", args: [to, amount] });
