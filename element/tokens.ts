// Symbols and decimals of the tokens in service/chains.json, and the coins of its chains, for
// pages that must not take a file's or a server's word for them: a receipt with other decimals
// would show another amount.

import type { Hex } from "executable-address";
import { isSame } from "executable-address/status";

type KnownToken = { readonly symbol: string; readonly decimals: number };

/** Returns the token's own symbol and decimals, or undefined if this package does not know it. */
export function findKnownToken(chainId: number, token: Hex): KnownToken | undefined {
  const known = knownTokens[chainId]?.find(({ address }) => isSame(address, token));
  return known && { symbol: known.symbol, decimals: known.decimals };
}

export const knownTokens: Readonly<Record<number, readonly (KnownToken & { address: Hex })[]>> = {
  1: [
    { symbol: "USDC", decimals: 6, address: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" },
    { symbol: "USDT", decimals: 6, address: "0xdAC17F958D2ee523a2206206994597C13D831ec7" },
    { symbol: "DAI", decimals: 18, address: "0x6B175474E89094C44Da98b954EedeAC495271d0F" },
    { symbol: "USDS", decimals: 18, address: "0xdC035D45d973E3EC169d2276DDab16f1e407384F" },
    { symbol: "PYUSD", decimals: 6, address: "0x6c3ea9036406852006290770BEdFcAbA0e23A0e8" },
    { symbol: "EURC", decimals: 6, address: "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c" },
  ],
  8453: [
    { symbol: "USDC", decimals: 6, address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" },
    { symbol: "DAI", decimals: 18, address: "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb" },
    { symbol: "EURC", decimals: 6, address: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42" },
  ],
  42161: [
    { symbol: "USDC", decimals: 6, address: "0xaf88d065e77c8cC2239327C5EDb3A432268e5831" },
    { symbol: "USDT0", decimals: 6, address: "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9" },
  ],
  10: [
    { symbol: "USDC", decimals: 6, address: "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85" },
    { symbol: "USDT0", decimals: 6, address: "0x01bFF41798a0BcF287b996046Ca68b395DbC1071" },
  ],
  137: [
    { symbol: "USDC", decimals: 6, address: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359" },
    { symbol: "USDT", decimals: 6, address: "0xc2132D05D31c914a87C6611C10748AEb04B58e8F" },
    { symbol: "DAI", decimals: 18, address: "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063" },
  ],
  43114: [
    { symbol: "USDC", decimals: 6, address: "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E" },
    { symbol: "EURC", decimals: 6, address: "0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD" },
  ],
  11155111: [
    { symbol: "USDC", decimals: 6, address: "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238" },
  ],
  84532: [{ symbol: "USDC", decimals: 6, address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e" }],
};

/** The coins in which fees are paid, by chain. */
export const coins: Readonly<Record<number, string>> = {
  1: "ETH",
  10: "ETH",
  137: "POL",
  8453: "ETH",
  42161: "ETH",
  43114: "AVAX",
};

/** The coin of every chain that is listed has as many. */
export const coinDecimals = 18;
