// Sets up a launch: its chain, endpoints, wallet, journal, and output.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type AddressRecord, drawSalt, type Hex, type Intent } from "executable-address";
import { parseAgreement } from "executable-address/client/internal";
import { blockHashOf, readAgreed } from "executable-address/proof";
import { findBlock, type Rpc } from "executable-address/status";
import { privateKeyToAccount } from "viem/accounts";
import { readBringKey } from "../chain/bring.ts";
import { type Chain, readChains } from "../chain/chains.ts";
import { libraryRpc } from "../chain/proof.ts";
import { type ChainRpc, openChainRpc } from "../chain/rpc/chain-rpc.ts";
import { quorumOf } from "../chain/rpc/network.ts";
import type { Config } from "../config.ts";
import { feePolicyOf } from "../executor/money/fees.ts";
import { compareReceipts } from "../executor/transactions/receipt.ts";
import { type Journal, openJournal } from "./journal.ts";
import { journaled, type Sending } from "./sending.ts";

export type LaunchOptions = {
  /** The chain's name, such as `base-sepolia`, or its ID. */
  chainName: string;
  keyFile: string;
  /** If this list is not empty, it replaces the endpoints in the chains file. */
  rpcUrls: readonly string[];
  isDryRun: boolean;
  isResume: boolean;
};

export type Outside = { config: Config; report: (line: string) => void; pollMs?: number };

/** The settings and dependencies of a launch. */
export type Launch = {
  chain: Chain;
  config: Config;
  wallet: Hex;
  key: Hex;
  journal: Journal;
  sending: Sending;
  /**
   * Sends each request to the endpoints in order until one responds. Stores each transaction in the
   * journal before it is sent, and waits until it is mined.
   */
  request: ReturnType<typeof journaled>;
  /** All endpoints. When the launch reads the address, at least `quorum` endpoints must agree. */
  rpcs: readonly Rpc[];
  quorum: number;
  pollMs: number;
  report: (line: string) => void;
};

const pollMsUsual = 2_000;
/**
 * The time until the address expires. A later payment cannot be executed. It can only be returned
 * to the launch's wallet.
 */
const expirySeconds = 86_400;

/**
 * Finds the chain in the chains file.
 * @throws if the file does not contain the chain, or if an endpoint's URL is invalid
 */
export function findChain(config: Config, { chainName, rpcUrls }: LaunchOptions): Chain {
  const chains = readChains(config.chainsFile);
  const chain = chains.find(
    ({ chainId, name }) => chainName === String(chainId) || chainName === wordOf(name),
  );
  if (!chain) {
    const names = chains.map(({ name }) => wordOf(name)).join(", ");
    throw new Error(`--chain: expected one of ${names}, found ${chainName}`);
  }
  const bad = rpcUrls.find((url) => !/^https?:\/\/[^/]/.test(url) || !URL.canParse(url));
  // The message does not quote the URL, because it may contain a key.
  if (bad !== undefined) {
    throw new Error(
      `--rpc: expected an http or https URL, found other text (${bad.length} characters)`,
    );
  }
  return rpcUrls.length > 0 ? { ...chain, rpcUrls: [...rpcUrls] } : chain;
}

/** Converts a chain's name for `--chain`: "Base Sepolia (testnet)" becomes `base-sepolia`. */
const wordOf = (name: string) =>
  name
    .replace(/\s*\(.*\)/, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-");

export const journalFile = ({ dataDirectory }: Config, { chainId }: Chain) =>
  join(dataDirectory, `launch-${chainId}.json`);

export async function openLaunch(
  chain: Chain,
  { keyFile, isResume }: LaunchOptions,
  { config, report, pollMs = pollMsUsual }: Outside,
): Promise<Launch> {
  const key = readBringKey(keyFile);
  const wallet = privateKeyToAccount(key).address;
  const file = journalFile(config, chain);
  if (isResume && !existsSync(file)) {
    throw new Error(`--resume: ${file} is missing, so no launch on this chain was started`);
  }
  const journal = await openJournal(file, { chainId: chain.chainId, wallet });
  const clients = chain.rpcUrls.map((url) => openChainRpc([url]));
  const { request } = openChainRpc(chain.rpcUrls);
  const readReceipt = receiptReader(clients);
  const sending = {
    ...{ key, journal, request, readReceipt, fees: feePolicyOf(chain), pollMs, report },
  };
  const rpcs = clients.map(libraryRpc);
  const quorum = Math.max(2, parseAgreement(rpcs, {}).quorum);
  return {
    ...{ chain, config, wallet, key, journal, sending, rpcs, quorum, pollMs, report },
    request: journaled(sending),
  };
}

/**
 * Returns a function that reads a receipt from all endpoints. At least two endpoints must return
 * the same receipt, because the launch's next step spends coin.
 */
const receiptReader =
  (clients: readonly ChainRpc[]): Sending["readReceipt"] =>
  async (hash) => {
    const answers = clients.map(async ({ request }) => {
      try {
        return [{ result: await request("eth_getTransactionReceipt", [hash]) }];
      } catch {
        return undefined;
      }
    });
    const { found } = compareReceipts(await Promise.all(answers), quorumOf(clients.length));
    return typeof found === "string" ? undefined : found;
  };

/**
 * Creates the intent for the first payment. The intent requests 0.01 USDC and forwards the money to
 * the wallet.
 */
export async function newIntent({ chain, config, wallet, rpcs }: Launch): Promise<Intent> {
  const token = chain.tokens.find(({ symbol }) => symbol === "USDC") ?? chain.tokens[0]!;
  const amount = `${10n ** BigInt(Math.max(0, token.decimals - 2))}`;
  const { timestamp } = (await findBlock(rpcs[0]!, "latest"))!;
  const seconds = Math.min(expirySeconds, config.limits.expirySecondsMax);
  return {
    token: token.address,
    amount,
    calls: [
      {
        target: token.address,
        function: "transfer(address to, uint256 amount)",
        args: [wallet, amount],
      },
    ],
    expirationTimestamp: timestamp + seconds,
    recovery: wallet,
    salt: drawSalt(),
    chainId: chain.chainId,
  };
}

/** Returns the status that a quorum of endpoints reports for the record's address. */
export async function readState({ chain, rpcs, quorum }: Launch, record: AddressRecord) {
  const agreed = await blockHashOf(rpcs, { quorum, chainId: chain.chainId });
  return readAgreed(record, agreed, { rpcs, quorum });
}
