// A local chain under Prague's rules, and the few things that tests and benches do there.

import {
  type Abi,
  type Address,
  concat,
  createTestClient,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
  publicActions,
  walletActions,
  zeroHash,
} from "viem";
import { foundry } from "viem/chains";
import { type Anvil, startAnvil } from "./anvil.ts";
import { deterministicDeployer, factoryAddress, factoryCreationCode } from "./index.ts";
import { paymentFactoryAbi } from "./snapshots/payment-factory.ts";

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

/** Starts anvil. `deployFactory` brings the factory to it as anybody would, by the deployer. */
export async function openChain(args: string[] = ["--hardfork", "prague"]) {
  const anvil: Anvil = await startAnvil({ args });
  const transport = http(anvil.rpcUrl);
  const client = createTestClient({ mode: "anvil", chain: foundry, transport })
    .extend(publicActions)
    .extend(walletActions);
  const [account] = (await client.getAddresses()) as [Address, ...Address[]];

  /** Sends from the first account and answers with the receipt; throws if it reverted. */
  async function send(to: Address | null, data: Hex) {
    const hash = await client.sendTransaction({ account, to, data, gas: 15_000_000n });
    const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 5 });
    if (receipt.status !== "success") throw new Error(`${data.slice(0, 10)} reverted at ${to}`);
    return receipt;
  }

  async function deploy(abi: Abi, bytecode: Hex, args: unknown[] = []): Promise<Address> {
    const receipt = await send(null, encodeDeployData({ abi, bytecode, args }));
    return getAddress(receipt.contractAddress!);
  }

  const factory = () =>
    send(deterministicDeployer.address, concat([zeroHash, factoryCreationCode]));
  return { anvil, client, account, send, deploy, deployFactory: factory };
}

/** Calldata of the factory's `functionName`. */
export const toFactory = (functionName: string, args: unknown[]): Hex =>
  encodeFunctionData({ abi: paymentFactoryAbi as Abi, functionName, args });

/** The address of `intent`, by the factory itself. */
export async function addressOf(chain: Chain, intent: IntentTerms): Promise<Address> {
  return chain.client.readContract({
    address: factoryAddress,
    abi: paymentFactoryAbi,
    functionName: "addressOf",
    args: [intent],
  });
}
