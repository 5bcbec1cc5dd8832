// Reads the file of the chains that this service knows: their tokens (spec/service.md §2.4) and
// their endpoints.
//
// We ship service/chains.json, and docs/self-hosting.md describes how it was verified. At startup,
// check.ts compares each entry with the chain.

import { readFileSync } from "node:fs";
import { type Hex, InvalidError, parseAddress } from "executable-address";
import { z } from "zod";

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
const wei = z.string().regex(/^[1-9][0-9]*$/, "expected a decimal number of wei");

/** The number of confirmations on a chain whose entry does not set one. */
export const confirmationsDefault = 12;

const tokenSchema = z.strictObject({
  symbol: z.string().min(1).max(20),
  address,
  decimals: z.int().min(0).max(36),
  /**
   * The executor returns late money or surplus only from this amount on, in base units. A smaller
   * amount is worth less than the cost of its return.
   */
  recoverMin: z
    .string()
    .regex(/^[1-9][0-9]*$/, "expected a decimal number of base units")
    .optional(),
});

/** A token that payers confuse with a listed token. Intents cannot request a look-alike. */
const lookalikeSchema = z.strictObject({
  symbol: z.string().min(1).max(20),
  /** The usual name, such as "Bridged USDC". */
  name: z.string().min(1).max(40),
  address,
  decimals: z.int().min(0).max(36),
  /** The symbol of the listed token that payers confuse with this token. */
  looksLike: z.string(),
  /**
   * The executor ignores transfers of less than this amount, in base units. A smaller amount is
   * worth less than the cost of its return.
   */
  recoverMin: z.string().regex(/^[1-9][0-9]*$/, "expected a decimal number of base units"),
});

const chainSchema = z.strictObject({
  chainId: z.int().positive(),
  name: z.string().min(1).max(40),
  /** Tried in order: the second endpoint is called if the first fails. */
  rpcUrls: z.array(httpUrl).min(1),
  /**
   * If set, transactions are sent to these endpoints, such as private relays, and not to `rpcUrls`.
   */
  sendUrls: z.array(httpUrl).max(8).default([]),
  /**
   * If a transaction is not mined after this number of blocks, it is also sent to `rpcUrls`. If
   * this field is absent, transactions are never sent to `rpcUrls`.
   */
  sendFallbackBlocks: z.int().min(1).max(10_000).optional(),
  /** The maximum number of calls per second, by URL of `rpcUrls` or `sendUrls`. */
  callsPerSecond: z.record(httpUrl, z.int().min(1).max(100_000)).optional(),
  /**
   * WebSockets that announce new blocks. An announcement ends the executor's wait, and the executor
   * then reads the block over HTTP.
   */
  wsUrls: z.array(wsUrl).max(4).default([]),
  explorer: httpUrl.optional(),
  /** The public RPC URL and the coin's symbol for a wallet that does not know the chain. */
  wallet: z.strictObject({ rpcUrl: httpUrl, coin: z.string().min(1).max(11) }).optional(),
  tokens: z.array(tokenSchema).min(1),
  /**
   * The executor returns look-alikes in the same way as surplus. It reads additional logs for each
   * look-alike in this list.
   */
  lookalikes: z.array(lookalikeSchema).max(32).default([]),
  /** The number of blocks that must follow an execution or a recovery before it counts as final. */
  confirmations: z.int().min(0).max(10_000).default(confirmationsDefault),
  /**
   * `finalized`: a block is final if endpoints report it as finalized. If the endpoints do not
   * support that tag, the executor counts confirmations. `blocks`: the executor always counts
   * confirmations.
   */
  finality: z.enum(["finalized", "blocks"]).default("finalized"),
  /**
   * The number of blocks that must follow a payment before the executor acts on it. Zero is safe,
   * because the contract checks the balance: if a reorganization undoes the payment, the execution
   * reverts, and only the executor's gas is lost.
   */
  paymentConfirmations: z.int().min(0).max(10_000).default(0),
  /**
   * The value of one whole token, in wei of the native coin, by token symbol. The executor accepts
   * tips in these tokens. It does not return late money or surplus whose value is less than the
   * cost of the return.
   */
  tipPrices: z.record(z.string(), wei).optional(),
  /** The maximum fee per gas, in wei. The executor waits while the fee is higher. */
  maxFeePerGas: wei.optional(),
  /**
   * The maximum priority fee per gas, in wei; 3 gwei by default. If twice the base fee is higher,
   * that is the maximum instead. Set this field only for chains that require more.
   */
  maxPriorityFeePerGas: wei.optional(),
});

export type Token = z.output<typeof tokenSchema>;
export type Lookalike = z.output<typeof lookalikeSchema>;
export type Chain = z.output<typeof chainSchema>;

/**
 * Known chains on which CREATE2 derives other addresses than on Ethereum, so nobody could move a
 * payment. Unknown chains of this kind are not listed either, because the startup check finds no
 * code at the factory's address.
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

/** The file is invalid. The message is a sentence for the operator. */
export class ChainsError extends Error {
  override name = "ChainsError";
}

/**
 * @param file JSON: an array of chains
 * @throws {ChainsError} with every fault and its path
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

/** @param source the name of the value in errors */
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
      // The whole URL may contain a key.
      throw new ChainsError(
        `${source}: callsPerSecond of chain ${chainId} has a limit for a URL on ` +
          `${new URL(unused).host}; expected only URLs from rpcUrls and sendUrls`,
      );
    }
    const unlike = lookalikes.find(({ looksLike }) => !symbols.has(looksLike));
    if (unlike) {
      throw new ChainsError(
        `${source}: the look-alike ${unlike.symbol} of chain ${chainId} names the token ` +
          `${unlike.looksLike}, which the chain does not list`,
      );
    }
    const addresses = [...tokens, ...lookalikes].map((token) => token.address);
    const twice = addresses.find((address, index) => addresses.indexOf(address) < index);
    if (twice) throw new ChainsError(`${source}: chain ${chainId} lists the token ${twice} twice`);
  }
  return parsed.data;
}
