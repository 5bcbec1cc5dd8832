// Finds the results of a mined transaction: the receipt that a quorum of endpoints agrees on, and
// the outcome and the tips of each address. Also finds the gas that each address of a batch used,
// from traces or from the items' estimates.

import { gasMargin, type Hex } from "executable-address";
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
import { agreed, readAnswers, type View } from "../../chain/rpc/view.ts";
import { explainRevert } from "../../chain/simulation/revert.ts";
import { hourMs } from "../../flow/days.ts";
import type { Purpose, Share } from "../ledger/purposes.ts";
import type { VaultOutcome } from "../ledger/settlements.ts";
import { dataFeePaid } from "../money/fees.ts";
import { convertToWei, type TipPrices } from "../money/tips.ts";
import type { Parts } from "../pass.ts";

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

/**
 * Splits a batch's gas among its addresses if there is no trace. Failed items may have burned all
 * their gas. Therefore, a successful item is charged at most its estimate. The failed items are
 * charged the rest.
 *
 * @returns the gas of each address; undefined if all items succeeded or all failed, because the gas
 *   must then be split by the estimates
 */
export function divideGas(
  shares: readonly Pick<Share, "address" | "gas">[],
  gasUsed: number,
  failed: ReadonlySet<Hex>,
): Map<Hex, number> | undefined {
  const sumGas = (some: typeof shares) => some.reduce((sum, { gas }) => sum + gas, 0);
  const ran = shares.filter(({ address }) => !failed.has(address));
  const burned = shares.filter(({ address }) => failed.has(address));
  if (ran.length === 0 || burned.length === 0) return undefined;
  const proportional = gasUsed / sumGas(shares);
  // `gas` is the item's share of the gas limit. `gas / gasMargin` is approximately the item's
  // estimate.
  const gasByAddress = new Map(
    ran.map(({ address, gas }) => [
      address,
      Math.floor(gas * Math.min(proportional, 1 / gasMargin)),
    ]),
  );
  const rest = gasUsed - [...gasByAddress.values()].reduce((sum, gas) => sum + gas, 0);
  for (const { address, gas } of burned) {
    gasByAddress.set(address, Math.floor((rest * gas) / sumGas(burned)));
  }
  return gasByAddress;
}

/** The last time at which too few endpoints returned a trace. */
export type TraceMemory = { traces: { untracedMs: number } };

export const openTraceMemory = (): TraceMemory => ({
  traces: { untracedMs: Number.NEGATIVE_INFINITY },
});

/** The time limit for a trace. All other work waits for the trace. */
const traceMsMax = 2000;
/** If too few endpoints return a trace, traces are requested again only after this time. */
const traceRetryMs = hourMs;

/**
 * Returns the gas that each address used, according to the endpoints' traces.
 *
 * Returns undefined without a request if there is only one vault, or if too few endpoints returned
 * a trace within the last hour. Also returns undefined if too few endpoints agree, or if the trace
 * does not match the vaults or `gasUsed`.
 */
export async function readGasUsed(
  { parts, memory, view }: TracePass,
  { transactionHash, gasUsed }: Pick<Receipt, "transactionHash" | "gasUsed">,
  vaults: readonly Hex[],
): Promise<Map<Hex, number> | undefined> {
  if (vaults.length < 2 || parts.clock() - memory.traces.untracedMs < traceRetryMs)
    return undefined;
  const params = [transactionHash, { tracer: "callTracer" }];
  const method = "debug_traceTransaction";
  const clients = view.clients(0);
  const calls = [{ method, params }];
  const isReplaceable = clients.length > view.quorum;
  const lists = await Promise.all(clients.map(({ ask }) => ask(calls, traceMsMax, isReplaceable)));
  const traces = lists.map(
    (list) => readAnswers([Array.isArray(list) ? list : undefined], 0, parseTrace)[0],
  );
  const votes = traces.map((gas) => gas && `${gas}`);
  if (votes.filter(Boolean).length < view.quorum) memory.traces.untracedMs = parts.clock();
  const places = agreed(votes, view.quorum);
  if (!places || places.length < view.quorum) return undefined;
  votes.forEach((vote, place) => {
    if (vote && !places.includes(place)) clients[place]!.accuse(method);
  });
  const gas = traces[places[0]!]!;
  // Refunds are subtracted in `gasUsed`, but not in the trace. A refund is at most a fifth of the
  // gas in the trace. Therefore, the trace can exceed `gasUsed` by up to a quarter of `gasUsed`.
  const isTooMuch = gas.reduce((sum, each) => sum + each, 0) > gasUsed * 1.25;
  if (gas.length !== vaults.length || isTooMuch) return undefined;
  return new Map(vaults.map((vault, index) => [vault, gas[index]!]));
}

type TracePass = {
  parts: Pick<Parts, "clock">;
  memory: TraceMemory;
  view: View;
};

/** Returns the gas of each item. The factory calls itself once per item. */
function parseTrace(trace: unknown): number[] {
  const { calls = [] } = trace as { calls?: { gasUsed: unknown }[] };
  return calls.map(({ gasUsed }) => Number(quantity(gasUsed)));
}
