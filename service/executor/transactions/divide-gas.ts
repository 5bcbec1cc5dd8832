// Finds the gas that each address of a batch used, from traces or from the items' estimates.

import { gasMargin, type Hex } from "executable-address";
import { quantity } from "../../chain/rpc/json-rpc.ts";
import { agreed, readAnswers, type View } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";
import type { Share } from "../ledger/purposes.ts";
import type { Parts } from "../pass.ts";
import type { Receipt } from "./receipt.ts";

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
const retryMs = hourMs;

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
  if (vaults.length < 2 || parts.clock() - memory.traces.untracedMs < retryMs) return undefined;
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
