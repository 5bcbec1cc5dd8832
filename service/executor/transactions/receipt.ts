// Finds the receipt that a quorum of endpoints agrees on. Computes each address's outcome and tips.

import type { Hex } from "executable-address";
import { decodeFactoryEvent, transferOf } from "executable-address/status";
import {
  type Answer,
  hexData,
  type Log,
  parseLog,
  quantity,
  resultOf,
  unlike,
} from "../../chain/rpc/json-rpc.ts";
import { agreed } from "../../chain/rpc/view.ts";
import { explainRevert } from "../../chain/simulation/revert.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { VaultOutcome } from "../ledger/settlements.ts";
import { dataFeePaid } from "../money/data-fee.ts";
import { convertToWei, type TipPrices } from "../money/tips.ts";

export type Receipt = {
  transactionHash: Hex;
  blockHash: Hex;
  blockNumber: number;
  succeeded: boolean;
  gasUsed: number;
  /** The cost in wei, including the fee for bytes on OP Stack chains. */
  paid: bigint;
  logs: Log[];
};

/**
 * Parses a receipt. If the transaction is not mined, `value` is null, and the result is undefined.
 *
 * @throws {ChainUnavailable} if the value is not a receipt
 */
export function parseReceipt(value: unknown): Receipt | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object") throw unlike("a receipt", value);
  const receipt = value as Record<string, unknown>;
  if (!Array.isArray(receipt.logs)) throw unlike("logs of a receipt", receipt.logs);
  const gasUsed = quantity(receipt.gasUsed, "receipt.gasUsed");
  return {
    transactionHash: hexData(receipt.transactionHash, "receipt.transactionHash"),
    blockHash: hexData(receipt.blockHash, "receipt.blockHash"),
    blockNumber: Number(quantity(receipt.blockNumber, "receipt.blockNumber")),
    succeeded: quantity(receipt.status, "receipt.status") === 1n,
    gasUsed: Number(gasUsed),
    paid: gasUsed * quantity(receipt.effectiveGasPrice ?? "0x0") + dataFeePaid(receipt),
    logs: receipt.logs.map(parseLog),
  };
}

/** The sender of a transaction, and the addresses of its items. Lower case. */
export type SentBatch = { sender: Hex; vaults: readonly Hex[] };

/**
 * Returns the outcomes according to the factory's events. Ignores events from other contracts. Also
 * ignores `ItemFailed` events of other callers, because an intent's calls can start their own
 * batch.
 *
 * @param factory lowercase
 */
export function decodeOutcomes(receipt: Receipt, factory: Hex, sent: SentBatch): VaultOutcome[] {
  return receipt.logs
    .filter((log) => log.address === factory)
    .flatMap((log) => decodeOutcome(log, sent) ?? []);
}

function decodeOutcome(log: Log, { sender, vaults }: SentBatch): VaultOutcome | undefined {
  const event = decodeFactoryEvent(log);
  if (!event) return undefined;
  if (event.name === "ItemFailed") {
    const vault = vaults[event.index];
    if (event.caller !== sender || !vault) return undefined;
    return { kind: "failed", vault, reason: explainRevert(event.reason) };
  }
  const { vault, token } = event;
  if (event.name === "Executed") {
    return { kind: "executed", vault, token, amount: event.held, left: event.left };
  }
  if (event.name === "Recovered") return { kind: "recovered", vault, token, amount: event.amount };
  return { kind: "recovery_failed", vault, token, reason: explainRevert(event.reason) };
}

/** Returns the value of each address's tips in wei. Tokens without a price are ignored. */
export function tipsIn(
  { logs }: Receipt,
  { sender, addresses }: Purpose,
  prices: TipPrices,
): Map<Hex, bigint> {
  const sums = new Map<Hex, bigint>();
  for (const log of logs) {
    const transfer = transferOf(log);
    if (transfer?.to !== sender || !addresses.includes(transfer.from)) continue;
    const wei = convertToWei(prices, log.address, transfer.amount) ?? 0n;
    if (wei > 0n) sums.set(transfer.from, (sums.get(transfer.from) ?? 0n) + wei);
  }
  return sums;
}

/**
 * Finds the receipt on which a quorum of endpoints agrees. Compares only the fields that the
 * executor uses. An endpoint without a receipt may lag, so it does not contradict the others.
 * Returns "absent" if a quorum has no receipt, even if one endpoint returns a receipt. Otherwise,
 * one wrong receipt could block the nonce forever.
 */
export function compareReceipts(
  answers: readonly (Answer[] | undefined)[],
  quorum: number,
): Agreement {
  const receipts = answers.map((list) => (list ? firstReceipt(list) : "unknown"));
  const votes = receipts.map((receipt) => {
    if (!receipt || receipt === "unknown") return undefined;
    return JSON.stringify({ ...receipt, paid: `${receipt.paid}` });
  });
  const places = agreed(votes, quorum);
  const shown = votes.filter((vote) => vote !== undefined).length;
  if (places && places.length >= quorum) {
    const others = votes.flatMap((vote, place) => (vote && !places.includes(place) ? [place] : []));
    return { found: receipts[places[0]!] as Receipt, others, receipts };
  }
  if (shown > 1) return { found: "disagreement", others: [], receipts };
  const absent = receipts.filter((receipt) => receipt === undefined).length;
  return { found: absent >= quorum ? "absent" : "unknown", others: [], receipts };
}

type Agreement = {
  found: Receipt | "absent" | "unknown" | "disagreement";
  /** The positions of the endpoints whose receipts differ from the quorum's receipt. */
  others: number[];
  /** The answer of each endpoint; undefined if the endpoint has no receipt. */
  receipts: (Receipt | undefined | "unknown")[];
};

/**
 * Describes the receipts of endpoints that disagree.
 * @param nameOf returns the name of the endpoint at an index of `receipts`
 */
export const describeReceipts = (
  receipts: Agreement["receipts"],
  nameOf: (place: number) => string,
): string =>
  receipts
    .flatMap((receipt, place) => {
      if (typeof receipt !== "object") return [];
      const { transactionHash, blockNumber, blockHash, succeeded, gasUsed, paid, logs } = receipt;
      const block = `${transactionHash} in block ${blockNumber} (${blockHash})`;
      const result = `${succeeded ? "succeeded" : "reverted"}, ${gasUsed} gas, ${paid} wei`;
      return `${nameOf(place)} returns ${block}, ${result}, ${logs.length} logs`;
    })
    .join("; ");

function firstReceipt(list: readonly Answer[]): Receipt | undefined | "unknown" {
  try {
    return list
      .map((answer) => parseReceipt(resultOf(answer, "eth_getTransactionReceipt")))
      .find((receipt) => receipt);
  } catch {
    return "unknown";
  }
}
