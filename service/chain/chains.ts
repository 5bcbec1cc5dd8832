// Reads the chains file, which lists each chain's endpoints and tokens (spec/service.md §2.4).
//
// The shipped file is service/chains.json. docs/self-hosting.md describes how its entries were
// verified. At startup, check.ts compares each entry with the chain.

import { readFileSync } from "node:fs";
import { type Hex, InvalidError, parseAddress } from "executable-address";
import { chainNameMax, decimalsMax, isName, symbolMax } from "executable-address/payment";
import { z } from "zod";

export { localChainId } from "executable-address-contracts";

const address = z.string().transform((text, context): Hex => {
  try {
    return parseAddress(text);
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    context.addIssue({ code: "custom", message: error.issues[0]!.message });
    return z.NEVER;
  }
});
const httpUrl = z.url({ protocol: /^https?$/ });
const wsUrl = z.url({ protocol: /^wss?$/ });
/** A text that a payment page shows. */
const shown = (lengthMax: number) =>
  z
    .string()
    .refine((text) => isName(text, lengthMax), `expected 1 to ${lengthMax} visible characters`);
const symbol = shown(symbolMax);
const name = shown(chainNameMax);
const decimals = z.int().min(0).max(decimalsMax);
const wei = z.string().regex(/^[1-9][0-9]*$/, "expected a decimal number of wei");

/** The number of confirmations for a chain whose entry has no field `confirmations`. */
export const confirmationsDefault = 12;

/**
 * The longest block time, in seconds, that the service expects on any chain. Of the chains in the
 * shipped file, Ethereum has the longest block time: 12 s. The limit is higher because a chain can
 * miss a block. Operators can also add slower chains.
 */
export const blockSecondsMax = 30;

/** The `recoverMin` of a token that has none, in base units. */
export const recoverMinDefault = 1n;

const tokenSchema = z.strictObject({
  symbol,
  address,
  decimals,
  /**
   * The minimum late payment or surplus that the executor sends back, in base units. The gas for a
   * smaller amount would cost more than the amount is worth.
   */
  recoverMin: z
    .string()
    .regex(/^[1-9][0-9]*$/, "expected a decimal number of base units")
    .optional(),
});

/**
 * A look-alike is a token that payers confuse with a listed token, such as bridged USDC. No new
 * intent can request a look-alike.
 */
const lookalikeSchema = z.strictObject({
  symbol,
  name,
  address,
  decimals,
  /** Payers may confuse this token with the listed token that has this symbol. */
  looksLike: z.string(),
  /**
   * The minimum amount of a transfer that the executor sends back, in base units. The gas for
   * sending back a smaller amount would cost more than the amount is worth.
   */
  recoverMin: z.string().regex(/^[1-9][0-9]*$/, "expected a decimal number of base units"),
});

const chainSchema = z.strictObject({
  chainId: z.int().positive(),
  name,
  /**
   * Whether this is a test network, whose tokens are worthless. The check of a new intent also
   * considers payments on other chains. It compares test networks only with test networks, and main
   * networks only with main networks.
   */
  isTestnet: z.boolean().default(false),
  /**
   * If one answer is sufficient, the service calls these endpoints in order until an endpoint
   * answers.
   */
  rpcUrls: z.array(httpUrl).min(1),
  /**
   * If not empty, the executor sends transactions to these endpoints instead of `rpcUrls`. An
   * example is a private relay.
   */
  sendUrls: z.array(httpUrl).max(8).default([]),
  /**
   * For chains with `sendUrls`. A transaction that is not mined after this number of blocks is also
   * sent to `rpcUrls`. If this field is missing, the executor sends transactions only to
   * `sendUrls`.
   */
  sendFallbackBlocks: z.int().min(1).max(10_000).optional(),
  /** The maximum number of calls per second, by URL. The URL must be in `rpcUrls` or `sendUrls`. */
  callsPerSecond: z.record(httpUrl, z.int().min(1).max(100_000)).optional(),
  /**
   * The executor subscribes to new blocks at these WebSocket URLs. When a URL reports a new block,
   * the executor immediately reads the newest block over HTTP.
   */
  wsUrls: z.array(wsUrl).max(4).default([]),
  explorer: httpUrl.optional(),
  /**
   * A public RPC URL and the native coin's symbol, for wallets to which this chain was not added
   * yet.
   */
  wallet: z.strictObject({ rpcUrl: httpUrl, coin: shown(11) }).optional(),
  tokens: z.array(tokenSchema).min(1),
  /**
   * Look-alike tokens that the executor sends back in the same way as surplus. For each of these
   * tokens, the executor reads additional logs.
   */
  lookalikes: z.array(lookalikeSchema).max(32).default([]),
  /** The number of later blocks after which an execution or a recovery is final. */
  confirmations: z.int().min(0).max(10_000).default(confirmationsDefault),
  /**
   * `finalized`: a block is final if the endpoints report it as finalized. If the endpoints do not
   * support the block tag `finalized`, the executor counts confirmations. `blocks`: the executor
   * always counts confirmations.
   */
  finality: z.enum(["finalized", "blocks"]).default("finalized"),
  /**
   * The number of later blocks that the executor waits for before it acts on a payment. Acting
   * without confirmations is safe. If a reorganization removes the payment, the contract reverts
   * the execution. The executor then loses only the gas.
   */
  paymentConfirmations: z.int().min(0).max(10_000).default(0),
  /**
   * The price of one whole token, in wei of the native coin, by token symbol. The executor accepts
   * tips in these tokens. It also uses these prices to decide whether money is worth the gas for
   * sending it back.
   */
  tipPrices: z.record(z.string(), wei).optional(),
  /**
   * The maximum fee per gas, in wei. The executor waits while the required fee is above this limit.
   */
  maxFeePerGas: wei.optional(),
  /**
   * The maximum priority fee per gas, in wei; 3 gwei by default. If twice the base fee is higher
   * than this value, the priority fee is limited to twice the base fee instead. Set this field only
   * for chains that require a higher value than the default.
   */
  maxPriorityFeePerGas: wei.optional(),
});

export type Token = z.output<typeof tokenSchema>;
export type Lookalike = z.output<typeof lookalikeSchema>;
export type Chain = z.output<typeof chainSchema>;

/**
 * Chains on which CREATE2 derives different addresses than on Ethereum. A payment to an executable
 * address would be lost there. The list does not have to be complete. The startup check also
 * refuses every chain without the factory.
 */
const refusedChains = new Map([
  [324, "zkSync Era"],
  [300, "zkSync Era Sepolia"],
  [2741, "Abstract"],
  [11124, "Abstract testnet"],
  [232, "Lens"],
  [37111, "Lens testnet"],
  [388, "Cronos zkEVM"],
  [50104, "Sophon"],
  [531050104, "Sophon testnet"],
  [61166, "Treasure"],
  [978658, "Treasure Topaz"],
  [543210, "Zero"],
  [626, "BattleChain"],
  [627, "BattleChain testnet"],
  [1612127, "PlayFi"],
  [728126428, "Tron"],
  [2494104990, "Tron Shasta"],
  [3448148188, "Tron Nile"],
]);

/** The chains file is invalid. The message is written for the operator. */
export class ChainsError extends Error {
  override name = "ChainsError";
}

/**
 * @param file JSON: an array of chains
 * @throws {ChainsError} that lists every problem with its path
 */
export function readChains(file: string): Chain[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ChainsError(`${file} cannot be read: ${(error as Error).message}`);
  }
  return parseChains(value, file);
}

/** @param source where the value comes from, for error messages */
export function parseChains(value: unknown, source: string): Chain[] {
  const parsed = z.array(chainSchema).min(1).safeParse(value);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) =>
      path.length > 0 ? `${path.join(".")}: ${message}` : message,
    );
    throw new ChainsError(`${source} is not a valid list of chains: ${faults.join("; ")}`);
  }
  const seen = new Set<number>();
  for (const { chainId, tokens, lookalikes, tipPrices = {}, ...chain } of parsed.data) {
    if (seen.has(chainId)) throw new ChainsError(`${source}: chain ${chainId} appears twice`);
    seen.add(chainId);
    const refused = refusedChains.get(chainId);
    if (refused) {
      throw new ChainsError(
        `${source}: chain ${chainId} (${refused}) is not supported, because it derives CREATE2 ` +
          "addresses differently",
      );
    }
    const symbols = new Set(tokens.map((token) => token.symbol));
    const stranger = Object.keys(tipPrices).find((symbol) => !symbols.has(symbol));
    if (stranger !== undefined) {
      throw new ChainsError(
        `${source}: chain ${chainId} has a price for the token ${stranger}, which the chain ` +
          "does not list",
      );
    }
    const urls = new Set([...chain.rpcUrls, ...chain.sendUrls]);
    const unused = Object.keys(chain.callsPerSecond ?? {}).find((url) => !urls.has(url));
    if (unused !== undefined) {
      // Only the host is shown, because the rest of the URL may contain a key.
      throw new ChainsError(
        `${source}: callsPerSecond of chain ${chainId}: expected only URLs from rpcUrls and ` +
          `sendUrls, found a URL with the host ${new URL(unused).host}`,
      );
    }
    const unlike = lookalikes.find(({ looksLike }) => !symbols.has(looksLike));
    if (unlike) {
      throw new ChainsError(
        `${source}: the look-alike ${unlike.symbol} of chain ${chainId} refers to the token ` +
          `${unlike.looksLike}, which chain ${chainId} does not list`,
      );
    }
    const addresses = [...tokens, ...lookalikes].map((token) => token.address);
    const twice = addresses.find((address, index) => addresses.indexOf(address) < index);
    if (twice) throw new ChainsError(`${source}: chain ${chainId} lists the token ${twice} twice`);
  }
  return parsed.data;
}
