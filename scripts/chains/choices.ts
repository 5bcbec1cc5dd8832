// The chains and tokens for service/chains.json. The minimum amounts, gas prices, and confirmations
// are here, because no package contains them. Addresses and decimals come from packages.json.

/**
 * A token that payers may mistake for the token `looksLike`. `symbol` is the token's symbol in
 * packages.json. If set, `as` and `name` replace the symbol and the name in service/chains.json.
 */
type Named = { symbol: string; as?: string; name?: string; looksLike: string };

export type Choice = {
  chainId: number;
  /** The RPC URLs of two providers. Each URL must occur in a package. */
  rpcUrls: [string, string];
  /**
   * The number of blocks until an execution is final, for endpoints without the `finalized` tag.
   */
  confirmations: number;
  maxFeePerGas: string;
  maxPriorityFeePerGas?: string;
  /** The minimum amount of a recovery, in whole tokens. Less is not worth the gas. */
  recoverMin: string;
  tokens: string[];
  lookalikes: Named[];
};

const of = (looksLike: string, ...symbols: string[]): Named[] =>
  symbols.map((symbol) => ({ symbol, looksLike }));
const bridged = (symbol: string, as = symbol): Named[] => [
  { symbol, as, name: "Bridged USDC", looksLike: "USDC" },
];

const ethereum = { confirmations: 65, maxFeePerGas: "60000000000", recoverMin: "5" };
/**
 * The values for OP Stack and Arbitrum chains. Such a chain reorganizes only if Ethereum
 * reorganizes or if the chain's sequencer fails.
 */
const rollup = { confirmations: 30, maxFeePerGas: "2000000000", recoverMin: "0.1" };
const testing = { confirmations: 12, recoverMin: "0.01", lookalikes: [], tokens: ["USDC"] };

export const chosen: readonly Choice[] = [
  {
    chainId: 1,
    rpcUrls: ["https://ethereum.reth.rs/rpc", "https://ethereum-rpc.publicnode.com"],
    ...ethereum,
    tokens: ["USDC", "USDT", "DAI", "USDS", "PYUSD", "EURC"],
    lookalikes: [
      ...of("USDC", "BUSD", "GUSD", "USDP", "USDG", "USD1", "RLUSD", "FRAX", "LUSD", "sUSD"),
      ...of("EURC", "agEUR", "EUROP", "EURQ", "EURR"),
    ],
  },
  {
    chainId: 8453,
    rpcUrls: ["https://mainnet.base.org", "https://base-rpc.publicnode.com"],
    ...rollup,
    tokens: ["USDC", "DAI", "EURC"],
    lookalikes: [...bridged("USDbC"), ...of("USDC", "AUSD")],
  },
  {
    chainId: 42161,
    rpcUrls: ["https://arb1.arbitrum.io/rpc", "https://arbitrum-one-rpc.publicnode.com"],
    ...{ ...rollup, confirmations: 60 },
    tokens: ["USDC", "USDT0"],
    lookalikes: [
      ...bridged("USDC.e"),
      ...of("USDC", "DAI", "USDS", "PYUSD", "USDP", "BUSD", "FRAX", "LUSD", "USD1"),
    ],
  },
  {
    chainId: 10,
    rpcUrls: ["https://mainnet.optimism.io", "https://optimism-rpc.publicnode.com"],
    ...rollup,
    tokens: ["USDC", "USDT0"],
    lookalikes: [
      ...bridged("USDC.e"),
      ...of("USDT0", "USDT"),
      ...of("USDC", "DAI", "BUSD", "FRAX", "LUSD", "sUSD"),
    ],
  },
  {
    chainId: 137,
    rpcUrls: ["https://polygon.drpc.org", "https://polygon-bor-rpc.publicnode.com"],
    ...{ confirmations: 64, maxFeePerGas: "1000000000000", maxPriorityFeePerGas: "60000000000" },
    recoverMin: "0.1",
    tokens: ["USDC", "USDT", "DAI"],
    lookalikes: [...bridged("USDC.e"), ...of("USDC", "AUSD", "sUSD")],
  },
  {
    chainId: 43114,
    rpcUrls: [
      "https://api.avax.network/ext/bc/C/rpc",
      "https://avalanche-c-chain-rpc.publicnode.com",
    ],
    ...{ confirmations: 12, maxFeePerGas: "100000000000", recoverMin: "0.1" },
    tokens: ["USDC", "EURC"],
    lookalikes: [...of("USDC", "USDT", "BUSD", "FRAX", "MIM", "AUSD"), ...of("EURC", "agEUR")],
  },
  {
    chainId: 480,
    rpcUrls: [
      "https://worldchain-mainnet.g.alchemy.com/public",
      "https://worldchain-mainnet.gateway.tenderly.co",
    ],
    ...rollup,
    tokens: ["USDC"],
    lookalikes: [],
  },
  {
    chainId: 57073,
    rpcUrls: ["https://rpc-gel.inkonchain.com", "https://rpc-qnd.inkonchain.com"],
    ...rollup,
    tokens: ["USDC", "USDT0"],
    lookalikes: [...bridged("USDC.E", "USDC.e"), ...of("USDC", "PYUSD", "USDG")],
  },
  {
    chainId: 11155111,
    rpcUrls: ["https://sepolia.drpc.org", "https://ethereum-sepolia-rpc.publicnode.com"],
    ...testing,
    maxFeePerGas: ethereum.maxFeePerGas,
  },
  {
    chainId: 84532,
    rpcUrls: ["https://sepolia.base.org", "https://base-sepolia-rpc.publicnode.com"],
    ...testing,
    maxFeePerGas: rollup.maxFeePerGas,
  },
  {
    chainId: 11155420,
    rpcUrls: ["https://sepolia.optimism.io", "https://optimism-sepolia.drpc.org"],
    ...testing,
    maxFeePerGas: rollup.maxFeePerGas,
  },
  {
    chainId: 4801,
    rpcUrls: [
      "https://worldchain-sepolia.g.alchemy.com/public",
      "https://worldchain-sepolia.drpc.org",
    ],
    ...testing,
    maxFeePerGas: rollup.maxFeePerGas,
  },
  {
    chainId: 763373,
    rpcUrls: ["https://rpc-gel-sepolia.inkonchain.com", "https://rpc-qnd-sepolia.inkonchain.com"],
    ...testing,
    maxFeePerGas: rollup.maxFeePerGas,
  },
  {
    chainId: 80002,
    rpcUrls: ["https://polygon-amoy.drpc.org", "https://polygon-amoy-bor-rpc.publicnode.com"],
    ...testing,
    ...{ maxFeePerGas: "1000000000000", maxPriorityFeePerGas: "60000000000" },
  },
  {
    chainId: 43113,
    rpcUrls: [
      "https://api.avax-test.network/ext/bc/C/rpc",
      "https://avalanche-fuji-c-chain-rpc.publicnode.com",
    ],
    ...testing,
    maxFeePerGas: "100000000000",
  },
];

const oneProvider = "the packages list endpoints of only one provider";
const unknownFork =
  "no package states the chain's fork, and we could not query the chain, so it may lack Cancun";
const coinIsUsdc =
  "USDC is also the chain's native coin, so the money at an address would count twice";

/** The reasons why service/chains.json omits chains that Circle's package lists, by chain ID. */
export const unlisted: Readonly<Record<number, string>> = {
  25: unknownFork,
  50: unknownFork,
  51: unknownFork,
  130: oneProvider,
  143: unknownFork,
  146: unknownFork,
  196: unknownFork,
  338: unknownFork,
  998: unknownFork,
  999: unknownFork,
  1301: oneProvider,
  1328: unknownFork,
  1329: unknownFork,
  1439: unknownFork,
  1672: unknownFork,
  1776: unknownFork,
  1952: unknownFork,
  2818: unknownFork,
  2910: unknownFork,
  3343: unknownFork,
  5042: coinIsUsdc,
  9745: unknownFork,
  9746: unknownFork,
  10143: unknownFork,
  14601: unknownFork,
  33431: unknownFork,
  59141: unknownFork,
  59144: unknownFork,
  81224: unknownFork,
  98866: unknownFork,
  98867: unknownFork,
  421614: oneProvider,
  688689: unknownFork,
  812242: unknownFork,
  5042002: coinIsUsdc,
};
