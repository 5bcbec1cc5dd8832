// Reads how much gas executions use if they have plenty. An estimate is the least limit at which an
// execution succeeds, and a target that tolerates failures may do less at that limit.

import { executeCalldata, toHex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { dependsOnGas, gasMargin } from "../../chain/execution-gas.ts";
import { recordWithoutGasUse } from "../../chain/rpc/endpoint-record.ts";
import { type Answer, type Call, quantity } from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import { type Asker, upperMiddle } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";
import { groupsOf } from "../../flow/groups.ts";
import type { Pass } from "../parts.ts";
import type { Purse } from "../transactions/send.ts";
import { baseGas } from "./batch.ts";
import type { Examined } from "./examine.ts";
import { isFormRefused, openForms, simulationForms } from "./forms.ts";
import { slowMs } from "./lanes.ts";

const method = "eth_simulateV1";

/** Executions of one call. Those of slow accounts are asked for one by one. */
const groupMax = 50;
/** A call gets at most this long, and those of slow accounts together. */
const callMsMax = 1500;
const slowMsMax = 500;

/** An endpoint that does not know the method is asked again after so long. */
const missingMs = hourMs;

/**
 * Reads the gas that each execution uses with the gas limit `limit`; if two endpoints differ, the
 * higher figure counts. Best effort: an execution is missing if no endpoint said it in time, and
 * then its estimate has to do.
 */
export async function readGasUses(
  pass: Pass,
  items: readonly Examined[],
  purse: Purse,
  limit: number,
): Promise<Map<Examined, number>> {
  if (items.length === 0) return new Map();
  const { parts, memory, view } = pass;
  const nowMs = parts.clock();
  const isAsked = ({ record }: Asker) => nowMs >= record.estimates.withoutGasUseUntilMs;
  const askers = view.askers(memory.jobs.estimateTurn).filter(isAsked).slice(0, view.quorum);
  const found = new Map<Examined, bigint[]>(items.map((item) => [item, []]));
  await Promise.all(
    askers.map(async (asker) => {
      for await (const [item, gas] of usesAt(pass, asker, items, purse, limit)) {
        found.get(item)!.push(gas);
      }
    }),
  );
  const uses = [...found].map(([item, all]) => [item, upperMiddle(all)] as const);
  return new Map(uses.flatMap(([item, gas]) => (gas === undefined ? [] : [[item, Number(gas)]])));
}

/** Yields what one endpoint says about each execution, those of quick accounts first. */
async function* usesAt(
  pass: Pass,
  asker: Asker,
  items: readonly Examined[],
  purse: Purse,
  limit: number,
): AsyncGenerator<[Examined, bigint]> {
  const { clock, tuning } = pass.parts;
  const { accountMs } = asker.record.estimates;
  const isQuick = ({ job }: Examined) => (accountMs.get(job.accountId) ?? 0) <= slowMs;
  const quickUntilMs = clock() + tuning.estimateMsMax / 2;
  const quick = [...groupsOf(items.filter(isQuick), groupMax)];
  const slow = items.filter((item) => !isQuick(item)).map((item) => [item]);
  let slowUntilMs = Number.POSITIVE_INFINITY;
  for (const [place, group] of [...quick, ...slow].entries()) {
    if (place === quick.length) slowUntilMs = clock() + slowMsMax;
    if (clock() > (place < quick.length ? quickUntilMs : slowUntilMs)) continue;
    const answer = await ask(pass, asker, formsOf(pass, purse, group, limit));
    if (!answer) return;
    for (const [index, item] of group.entries()) {
      const gas = gasUsedIn(answer, index);
      if (gas !== undefined) yield [item, gas];
    }
  }
}

/** @returns undefined if the endpoint is slow or gone, or does not know the method */
async function ask(pass: Pass, asker: Asker, forms: readonly Call[]): Promise<Answer | undefined> {
  for (const [index, form] of forms.entries()) {
    const answers = await asker.ask([form], callMsMax);
    if (typeof answers === "string") return undefined;
    const answer = answers[0]!;
    if (isFormRefused(answer) && index < forms.length - 1) continue;
    if ("error" in answer && classifyError(method, answer.error) === "no_method") {
      recordWithoutGasUse(asker.record, pass.parts.clock() + missingMs);
      return undefined;
    }
    return answer;
  }
  return undefined;
}

function formsOf(pass: Pass, purse: Purse, group: readonly Examined[], gas: number): Call[] {
  const calls = group.map(({ job }) => ({
    ...{ from: pass.signer.address, to: pass.parts.factory },
    ...{ data: toHex(executeCalldata(job.terms)), gas: toQuantity(gas) },
  }));
  return simulationForms(openForms(pass, purse), calls, purse.balance);
}

/** @returns undefined if the call at `place` failed or the node did not run it */
function gasUsedIn(answer: Answer, place: number): bigint | undefined {
  if ("error" in answer) return undefined;
  try {
    const [block] = answer.result as { calls: { status: unknown; gasUsed: unknown }[] }[];
    const { status, gasUsed } = block!.calls[place]!;
    return quantity(status) === 1n ? quantity(gasUsed) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the gas to plan for an execution: at least what it uses with plenty.
 *
 * @param estimate the least limit at which it succeeds
 * @param use with the gas limit `limit`; undefined: unknown
 * @param gasMax of a transaction
 */
export function planGas(estimate: number, use: number | undefined, limit: number, gasMax: number) {
  if (use === undefined) return estimate;
  if (!dependsOnGas(estimate, use)) return Math.max(estimate, use);
  // Only with the limit of the simulation is it certain to do what it did there. In a batch it
  // gets 63/64 of its share.
  const needed = Math.min((limit * 64) / 63, gasMax - baseGas);
  return Math.max(estimate, Math.floor(needed / gasMargin));
}
