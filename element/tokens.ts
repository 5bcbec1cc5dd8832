// Lists the tokens in service/chains.json with their symbols, decimals, and addresses. Also lists
// the native coin of each chain. The receipt page prefers this list to the server's. Wrong decimals
// would show a wrong amount.

import type { Hex } from "executable-address";
import { isSame } from "executable-address/status";

type KnownToken = { readonly symbol: string; readonly decimals: number };

/** Returns a token's symbol and decimals, or undefined if this package does not list the token. */
export function findKnownToken(chainId: number, token: Hex): KnownToken | undefined {
  for (const { symbol, decimals, addresses } of knownTokens) {
    const address = addresses[chainId];
    if (address && isSame(address, token)) return { symbol, decimals };
  }
  return undefined;
}

/** The tokens. Each token appears once, with its addresses by chain ID. */
export const knownTokens: readonly (KnownToken & { addresses: Readonly<Record<number, Hex>> })[] = [
  {
    symbol: "USDC",
    decimals: 6,
    addresses: {
      1: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
      10: "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",
      137: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
      480: "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1",
      4801: "0x66145f38cBAC35Ca6F1Dfb4914dF98F1614aeA88",
      8453: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
      42161: "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
      43113: "0x5425890298aed601595a70AB815c96711a31Bc65",
      43114: "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
      57073: "0x2D270e6886d130D724215A266106e6832161EAEd",
      80002: "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582",
      84532: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      763373: "0xFabab97dCE620294D2B0b0e46C68964e326300Ac",
      11155111: "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
      11155420: "0x5fd84259d66Cd46123540766Be93DFE6D43130D7",
    },
  },
  {
    symbol: "USDT",
    decimals: 6,
    addresses: {
      1: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
      137: "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
    },
  },
  {
    symbol: "DAI",
    decimals: 18,
    addresses: {
      1: "0x6B175474E89094C44Da98b954EedeAC495271d0F",
      137: "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063",
      8453: "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb",
    },
  },
  {
    symbol: "USDS",
    decimals: 18,
    addresses: {
      1: "0xdC035D45d973E3EC169d2276DDab16f1e407384F",
    },
  },
  {
    symbol: "PYUSD",
    decimals: 6,
    addresses: {
      1: "0x6c3ea9036406852006290770BEdFcAbA0e23A0e8",
    },
  },
  {
    symbol: "EURC",
    decimals: 6,
    addresses: {
      1: "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c",
      8453: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
      43114: "0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD",
    },
  },
  {
    symbol: "USDT0",
    decimals: 6,
    addresses: {
      10: "0x01bFF41798a0BcF287b996046Ca68b395DbC1071",
      42161: "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
      57073: "0x0200C29006150606B650577BBE7B6248F58470c1",
    },
  },
];

/** Symbols of native coins by chain ID. */
export const coins: Readonly<Record<number, string>> = {
  1: "ETH",
  10: "ETH",
  137: "POL",
  480: "ETH",
  8453: "ETH",
  42161: "ETH",
  43114: "AVAX",
  57073: "ETH",
  // Test networks
  4801: "ETH",
  43113: "AVAX",
  80002: "POL",
  84532: "ETH",
  763373: "ETH",
  11155111: "ETH",
  11155420: "ETH",
};

/** The decimals of the native coin, equal on every listed chain. */
export const coinDecimals = 18;
