// A local chain for `npm start` and e2e tests. It has the contracts, two tokens, and a shop.
// Contracts are deployed with CREATE2, so their addresses are the same on every machine.

import { demoShop, demoToken, localChainId } from "executable-address-contracts";
import { anvilChain, anvilKeys } from "executable-address-contracts/anvil";
import { create2Address, deployOnce } from "executable-address-contracts/deploy";
import {
  type Account,
  createWalletClient,
  encodeDeployData,
  type Hex,
  http,
  publicActions,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { bring } from "../service/chain/bring.ts";

const [deployerKey, payerKey] = anvilKeys;
export const executorKey: Hex = anvilKeys[2];
const deployerAccount = privateKeyToAccount(deployerKey);
export const payerAccount = privateKeyToAccount(payerKey);
export const executorAccount = privateKeyToAccount(executorKey);

export { localChainId };

const tokens = [
  { name: "Demo Dollar", symbol: "DUSD", decimals: 6 },
  { name: "Demo Coin", symbol: "DEMO", decimals: 18 },
] as const;

/** The creation codes of the demo tokens, in the order of deployment. */
const tokenCodes = tokens.map(({ name, symbol, decimals }) =>
  encodeDeployData({ ...demoToken, args: [name, symbol, decimals] }),
);

/** The demo tokens, as in chains.json. */
export const demoTokens = tokens.map(({ symbol, decimals }, i) => ({
  symbol,
  address: create2Address(tokenCodes[i]!),
  decimals,
}));

const shopCode = encodeDeployData({ ...demoShop, args: [demoTokens[0]!.address] });

/** The demo shop, which receives payments in the first demo token. */
export const shopAddress = create2Address(shopCode);

/** Returns a client that signs with `account`. */
export const localWallet = (rpcUrl: string, account: Account) =>
  createWalletClient({ account, chain: anvilChain, transport: http(rpcUrl) }).extend(publicActions);

/** Deploys the contracts that are missing on the chain. Idempotent. */
export async function deployDemo(rpcUrl: string): Promise<void> {
  await bring(rpcUrl, () => deployerKey);
  const wallet = localWallet(rpcUrl, deployerAccount);
  for (const code of [...tokenCodes, shopCode]) await deployOnce(wallet, code);
}

/** Returns the content of `CHAINS_FILE` for the local chain. */
export const localChains = (rpcUrl: string) => [
  {
    chainId: localChainId,
    name: "Local",
    rpcUrls: [rpcUrl],
    wallet: { rpcUrl, coin: "ETH" },
    tokens: demoTokens,
    confirmations: 0,
    finality: "blocks",
  },
];
