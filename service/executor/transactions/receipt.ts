// Reads receipts: which one enough endpoints agree on, what the factory's events say about vaults,
// the gas that each address used, and the tips that it paid.

import type { Hex } from "executable-address";
import { decodeFactoryEvent, transferOf } from "executable-address/status";
import { gasMargin } from "../../chain/execution-gas.ts";
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
  /** In wei: gas used times what it cost, and the fee for bytes where the chain has one. */
  paid: bigint;
  logs: Log[];
};

/** @throws {ChainUnavailable} when it is not a receipt; null is undefined: not mined there */
export function receiptOf(value: unknown): Receipt | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object") throw unlike("a receipt", value);
  const receipt = value as Record<string, unknown>;
  if (!Array.isArray(receipt.logs)) throw unlike("logs of a receipt", receipt.logs);
  const gasUsed = quantity(receipt.gasUsed);
  return {
    transactionHash: hexData(receipt.transactionHash),
    blockHash: hexData(receipt.blockHash),
    blockNumber: Number(quantity(receipt.blockNumber)),
    succeeded: quantity(receipt.status) === 1n,
    gasUsed: Number(gasUsed),
    paid: gasUsed * quantity(receipt.effectiveGasPrice ?? "0x0") + dataFeePaid(receipt),
    logs: receipt.logs.map(parseLog),
  };
}

/** A transaction as it was sent: its sender, and the vaults of a batch's items. All lower case. */
export type SentBatch = { sender: Hex; vaults: readonly Hex[] };

/**
 * @param factory lower case. Events of other contracts are ignored, and so is `ItemFailed` of a
 *   batch that a target sent of its own.
 */
export function outcomesOf(receipt: Receipt, factory: Hex, sent: SentBatch): VaultOutcome[] {
  return receipt.logs
    .filter((log) => log.address === factory)
    .flatMap((log) => outcomeOf(log, sent) ?? []);
}

function outcomeOf(log: Log, { sender, vaults }: SentBatch): VaultOutcome | undefined {
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

/** In wei, by address; a token's log is believed as far as the operator has a price for it. */
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
 * Divides the gas that a batch used where no trace says who took it. An item that failed may have
 * burned all it was given, so one that ran is charged no more than its estimate, and those that
 * failed take the rest. If all ran, or all failed, each pays by its estimate.
 *
 * @returns the gas of each address; undefined: by estimates
 */
export function divideGas(
  shares: readonly Pick<Share, "address" | "gas">[],
  gasUsed: number,
  failed: ReadonlySet<Hex>,
): Map<Hex, number> | undefined {
  const sumOf = (some: typeof shares) => some.reduce((sum, { gas }) => sum + gas, 0);
  const ran = shares.filter(({ address }) => !failed.has(address));
  const burned = shares.filter(({ address }) => failed.has(address));
  if (ran.length === 0 || burned.length === 0) return undefined;
  const proportional = gasUsed / sumOf(shares);
  // The limit has the margin, and the estimate has not.
  const taken = new Map(
    ran.map(({ address, gas }) => [
      address,
      Math.floor(gas * Math.min(proportional, 1 / gasMargin)),
    ]),
  );
  const rest = gasUsed - [...taken.values()].reduce((sum, gas) => sum + gas, 0);
  for (const { address, gas } of burned) {
    taken.set(address, Math.floor((rest * gas) / sumOf(burned)));
  }
  return taken;
}

/** When too few endpoints were last found to trace transactions. */
export type TraceMemory = { traces: { untracedMs: number } };

export const openTraceMemory = (): TraceMemory => ({
  traces: { untracedMs: Number.NEGATIVE_INFINITY },
});

/** A node that is not done by then is no help: the pass waits for it. */
const traceMsMax = 2000;
/** Where too few trace, as often as this one is asked again: a stranger can make a trace slow. */
const untracedMs = hourMs;

/**
 * Reads the gas that each address took; undefined where too few endpoints say the same. Who shares
 * a transaction otherwise pays by what was estimated.
 */
export async function readGasTaken(
  { parts, memory, view }: TracePass,
  { transactionHash, gasUsed }: Pick<Receipt, "transactionHash" | "gasUsed">,
  vaults: readonly Hex[],
): Promise<Map<Hex, number> | undefined> {
  if (vaults.length < 2 || parts.clock() - memory.traces.untracedMs < untracedMs) return undefined;
  const params = [transactionHash, { tracer: "callTracer" }];
  const method = "debug_traceTransaction";
  const askers = view.askers(0);
  const lists = await Promise.all(askers.map(({ ask }) => ask([{ method, params }], traceMsMax)));
  const traces = lists.map(
    (list) => readAnswers([Array.isArray(list) ? list : undefined], 0, gasOf)[0],
  );
  const votes = traces.map((gas) => gas && `${gas}`);
  if (votes.filter(Boolean).length < view.quorum) memory.traces.untracedMs = parts.clock();
  const places = agreed(votes, view.quorum);
  if (!places || places.length < view.quorum) return undefined;
  votes.forEach((vote, place) => {
    if (vote && !places.includes(place)) askers[place]!.accuse(method);
  });
  const gas = traces[places[0]!]!;
  // A fifth of what was used may have been given back.
  const isTooMuch = gas.reduce((sum, each) => sum + each, 0) > gasUsed * 1.25;
  if (gas.length !== vaults.length || isTooMuch) return undefined;
  return new Map(vaults.map((vault, index) => [vault, gas[index]!]));
}

/** The parts of a pass that it uses. */
type TracePass = {
  parts: Pick<Parts, "clock">;
  memory: TraceMemory;
  view: View;
};

/** The factory calls itself once for each item; a batch that ran out of gas has fewer. */
function gasOf(trace: unknown): number[] {
  const { calls = [] } = trace as { calls?: { gasUsed: unknown }[] };
  return calls.map(({ gasUsed }) => Number(quantity(gasUsed)));
}

/**
 * The receipt that enough endpoints show, every field that is acted on. An endpoint without one may
 * lag, so it contradicts none. Absent if enough of them have none: what one more says or leaves
 * out could hold the nonce for ever. The block that spent it is looked for before it is given up.
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
    return { found: receipts[places[0]!] as Receipt, others };
  }
  if (shown > 1) return { found: "disagreement", others: [] };
  const absent = receipts.filter((receipt) => receipt === undefined).length;
  return { found: absent >= quorum ? "absent" : "unknown", others: [] };
}

type Agreement = {
  found: Receipt | "absent" | "unknown" | "disagreement";
  /** The places of those that show another receipt than enough do. */
  others: number[];
};

function firstReceipt(list: readonly Answer[]): Receipt | undefined | "unknown" {
  try {
    return list.map((answer) => receiptOf(resultOf(answer))).find((receipt) => receipt);
  } catch {
    return "unknown";
  }
}
