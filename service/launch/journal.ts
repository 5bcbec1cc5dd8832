// Records the steps of a launch, so that an interrupted launch can be repeated. Each signed
// transaction is stored before it is sent, and the intent before its address is shown.
//
// No transaction takes effect twice: each uses the nonce after the newest mined one, and the next
// is signed only after it was mined. Two pending transactions therefore share a nonce, and at most
// one can be mined. A mined transaction with the same recipient, value, and calldata is never
// signed again, even if an endpoint lags and does not show its effect yet.

import type { Hex, Intent } from "executable-address";
import { toQuantity } from "executable-address/status";
import { deterministicDeployer } from "executable-address-contracts";
import { keccak256, parseTransaction } from "viem/utils";
import type { ChainRpc } from "../chain/rpc/chain-rpc.ts";
import { CallRefused, quantity } from "../chain/rpc/json-rpc.ts";
import { dataFeePaid } from "../executor/money/fees.ts";
import { readNote, writeNote } from "../records/mirror.ts";

/** `raw` is signed. `wei` is the cost including the value, decimal. */
type Sent = {
  hash: Hex;
  raw: Hex;
  nonce: number;
  mined: { block: number; succeeded: boolean; wei: string } | null;
};

/** The completed steps of a launch on one chain. */
export type LaunchState = {
  chainId: number;
  wallet: Hex;
  sent: Sent[];
  intent?: Intent;
  /** The address was saved, and its account. */
  saved?: { address: Hex; accountId: string };
  /** The receipt was written to this file. */
  receipt?: string;
};

export type Journal = {
  state: LaunchState;
  save(change: Partial<LaunchState>): Promise<void>;
};

/** @throws an error that names both wallets if the file is of a launch by another key */
export async function openJournal(
  file: string,
  { chainId, wallet }: { chainId: number; wallet: Hex },
): Promise<Journal> {
  const fresh: LaunchState = { chainId, wallet, sent: [] };
  const journal = {
    state: await readNote(file, fresh),
    async save(change: Partial<LaunchState>) {
      journal.state = { ...journal.state, ...change };
      await writeNote(file, journal.state);
    },
  };
  const { state } = journal;
  if (state.wallet !== wallet || state.chainId !== chainId) {
    throw new Error(
      `${file} belongs to a launch on chain ${state.chainId} by the wallet ${state.wallet}, but ` +
        `the key belongs to ${wallet}: use that key, or move the file to start again`,
    );
  }
  return journal;
}

/** Wraps `request` so that each transaction of the journal's wallet is stored before it is sent. */
export function journaled(
  request: ChainRpc["request"],
  journal: Journal,
  say: (line: string) => void,
): ChainRpc["request"] {
  const { wallet } = journal.state;
  return async (method, params) => {
    if (method === "eth_getTransactionCount" && isText(params[0], wallet)) {
      const mined = Number(quantity(await request(method, [wallet, "latest"])));
      return toQuantity(Math.max(mined, nonceAfterMined(journal.state)));
    }
    if (method === "eth_sendRawTransaction") await store(journal, params[0] as Hex, say);
    const result = await request(method, params);
    if (method === "eth_getTransactionReceipt" && result) {
      await noteReceipt(journal, result as Record<string, unknown>);
    }
    return result;
  };
}

const isText = (value: unknown, text: string) =>
  typeof value === "string" && value.toLowerCase() === text.toLowerCase();

/** An endpoint that lags counts fewer transactions than were mined. */
const nonceAfterMined = ({ sent }: LaunchState) =>
  sent.reduce((next, { nonce, mined }) => (mined ? Math.max(next, nonce + 1) : next), 0);

async function store(journal: Journal, raw: Hex, say: (line: string) => void): Promise<void> {
  const hash = keccak256(raw);
  const { sent } = journal.state;
  if (raw === deterministicDeployer.transaction || sent.some((each) => each.hash === hash)) return;
  const { nonce = 0 } = parseTransaction(raw);
  const same = sent.find(({ mined, raw: old }) => mined?.succeeded && hasSameEffect(old, raw));
  if (same) {
    throw new Error(
      `${same.hash} already did this, but the endpoint does not show it yet: try again later`,
    );
  }
  // Of the pending transactions, only one can be mined, because they have the same nonce.
  await journal.save({ sent: [...sent, { hash, raw, nonce, mined: null }] });
  say(`sending ${hash}`);
}

function hasSameEffect(one: Hex, other: Hex): boolean {
  const [a, b] = [parseTransaction(one), parseTransaction(other)];
  return a.to === b.to && a.data === b.data && (a.value ?? 0n) === (b.value ?? 0n);
}

async function noteReceipt(journal: Journal, receipt: Record<string, unknown>): Promise<void> {
  const { sent } = journal.state;
  const mined = sent.find(({ hash }) => hash === receipt.transactionHash);
  if (!mined) return;
  const { value = 0n } = parseTransaction(mined.raw);
  const succeeded = quantity(receipt.status) === 1n;
  const fee = quantity(receipt.gasUsed) * quantity(receipt.effectiveGasPrice);
  const wei = fee + dataFeePaid(receipt) + (succeeded ? value : 0n);
  const block = Number(quantity(receipt.blockNumber));
  const noted = { ...mined, mined: { block, succeeded, wei: `${wei}` } };
  await journal.save({ sent: sent.map((each) => (each === mined ? noted : each)) });
}

/** Computes what the mined transactions cost so far, in wei. */
export const spentWei = ({ sent }: LaunchState): bigint =>
  sent.reduce((sum, { mined }) => sum + BigInt(mined?.wei ?? 0), 0n);

const settleSecondsMax = 180;

/**
 * Finds the outcome of each stored transaction, including transactions that a reorganization may
 * have undone, and resends those that are not mined.
 *
 * @param request that of {@link journaled}
 * @throws if one is neither mined nor refused in time
 */
export async function settleSent(
  request: ChainRpc["request"],
  journal: Journal,
  pollMs: number,
): Promise<void> {
  for (const { hash } of [...journal.state.sent].sort((a, b) => a.nonce - b.nonce)) {
    await settle(request, journal, hash, pollMs);
  }
}

async function settle(
  request: ChainRpc["request"],
  journal: Journal,
  hash: Hex,
  pollMs: number,
): Promise<void> {
  const { raw, nonce } = journal.state.sent.find((each) => each.hash === hash)!;
  const forget = () =>
    journal.save({ sent: journal.state.sent.filter((each) => each.hash !== hash) });
  for (let waitedMs = 0; waitedMs <= settleSecondsMax * 1000; waitedMs += pollMs) {
    if (await request("eth_getTransactionReceipt", [hash])) return;
    const { wallet } = journal.state;
    const next = Number(quantity(await request("eth_getTransactionCount", [wallet, "latest"])));
    const isKnown = await request("eth_getTransactionByHash", [hash]);
    if (!isKnown && next <= nonce) {
      const refusal = await request("eth_sendRawTransaction", [raw]).catch((error) => error);
      const isTaken =
        !(refusal instanceof CallRefused) || /known|import|exists/i.test(refusal.message);
      // The next signed transaction has the same nonce, so only one of the two can be mined.
      if (!isTaken) return forget();
    } else if (!isKnown && waitedMs > 0 && journal.state.sent.some(replacesIt(nonce, hash))) {
      return forget();
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new Error(
    `${hash} was not mined within ${settleSecondsMax} s. Run the same command again later. If ` +
      `another program used nonce ${nonce} of this key, it will never be mined: move the journal`,
  );
}

const replacesIt = (nonce: number, hash: Hex) => (each: Sent) =>
  each.nonce === nonce && each.hash !== hash && each.mined !== null;
