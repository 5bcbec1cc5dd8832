// A local chain under Prague's rules, with the few functions that tests and benches need.

import {
  type Abi,
  type Address,
  createTestClient,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
  publicActions,
  walletActions,
} from "viem";
import { type Anvil, anvilChain, startAnvil } from "../anvil.ts";
import { factoryAddress } from "../index.ts";
import { paymentFactoryAbi } from "../snapshots/payment-factory.ts";

export type CallTerms = { target: Address; signature: string; names: string; args: Hex };
export type IntentTerms = {
  token: Address;
  amount: bigint;
  calls: readonly CallTerms[];
  expirationTimestamp: bigint;
  recovery: Address;
  salt: Hex;
  chainId: bigint;
};

export type Chain = Awaited<ReturnType<typeof openChain>>;

/** Starts anvil, with a client that sends from anvil's first account. */
export async function openChain(args: string[] = ["--hardfork", "prague"]) {
  const anvil: Anvil = await startAnvil({ args });
  const client = createTestClient({
    mode: "anvil",
    chain: anvilChain,
    transport: http(anvil.rpcUrl, { batch: { batchSize: 100 } }),
    account: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    pollingInterval: 5,
  })
    .extend(publicActions)
    .extend(walletActions);

  /** Sends a transaction and returns the receipt. Throws if the transaction reverted. */
  async function send(to: Address | null, data: Hex) {
    const hash = await client.sendTransaction({ to, data, gas: 15_000_000n });
    const receipt = await client.waitForTransactionReceipt({ hash });
    if (receipt.status !== "success") throw new Error(`${data.slice(0, 10)} reverted at ${to}`);
    return receipt;
  }

  async function deploy(abi: Abi, bytecode: Hex, args: unknown[] = []): Promise<Address> {
    const receipt = await send(null, encodeDeployData({ abi, bytecode, args }));
    return getAddress(receipt.contractAddress!);
  }

  return { anvil, client, send, deploy };
}

/** Calldata of the factory's `functionName`. */
export const toFactory = (functionName: string, args: unknown[]): Hex =>
  encodeFunctionData({ abi: paymentFactoryAbi as Abi, functionName, args });

/** Returns the address of `intent` as computed by the factory. */
export async function addressOf(chain: Chain, intent: IntentTerms): Promise<Address> {
  return chain.client.readContract({
    address: factoryAddress,
    abi: paymentFactoryAbi,
    functionName: "addressOf",
    args: [intent],
  });
}
