// Computes how much gas the transactions of the executor need: their gas limits, the share of each
// item, and the cost of a recovery. Also measures how much gas an execution uses with a high gas
// limit, and derives the gas to reserve. estimate.ts explains why an estimate can be too low.

import { executeCalldata, fromHex, gasMargin, type Hex, toHex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { size } from "viem/utils";
import {
  calldataGas,
  dependsOnGas,
  nonzeroFactor,
  transactionGasMin,
} from "../../chain/gas-limits.ts";
import { recordWithoutGasUse } from "../../chain/rpc/endpoint-record.ts";
import type { BlockPace } from "../../chain/rpc/heads.ts";
import { type Answer, type Call, quantity } from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import type { EndpointClient } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";
import { groupsOf } from "../../flow/groups.ts";
import { upperMedian } from "../../flow/numbers.ts";
import type { Share } from "../ledger/purposes.ts";
import { computeCost, type Size } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import type { Examined } from "../payments/vaults.ts";
import type { Purse } from "../transactions/purse.ts";
import { isVariantRefused, simulationVariants, slowMs, surroundingsOf } from "./simulate.ts";

/** The action for an item: execute it, recover `tokens`, or return a reported token. */
type Act =
  | { kind: "execute" }
  | { kind: "recover"; tokens: readonly Hex[] }
  | { kind: "return"; token: Hex };

/** An item and the gas that it needs. `isTipped` is true if the item's tip pays for this gas. */
export type Ready = { item: Examined; gas: number; isTipped?: boolean } & Act;

/** All items in a batch are of the same kind. */
export type Batch = { ready: Ready[]; gas: number };

/**
 * An upper bound on a transaction's gas, without the gas for its items. The tests compare the gas
 * limits with contracts/snapshots/gas.json.
 */
export const baseGas = 40_000;

/**
 * Returns the gas limit for a transaction that contains `items`.
 * @param items sorted by gas, lowest first
 */
export function computeGasLimit(items: readonly Pick<Ready, "gas">[]): number {
  return Math.ceil(baseGas + items.length * items.at(-1)!.gas * gasMargin);
}

/**
 * Upper bounds on calldata sizes in bytes. `callBytes` is for a `batch` call without its items.
 * `itemBytes` is for an item without its encoded terms. A test compares both with the calldata that
 * the library encodes.
 */
const callBytes = 100;
const itemBytes = 256;

/** Returns the maximum calldata size of an item, in bytes. */
export function countCalldataBytes(ready: Pick<Ready, "item"> & Act): number {
  const tokens = ready.kind === "recover" ? ready.tokens.length : 1;
  return itemBytes + size(ready.item.job.terms) + 32 * tokens;
}

/**
 * Returns the maximum size of a transaction with these items.
 * @param items sorted by gas, lowest first
 */
export const computeSizeMax = (items: readonly Ready[]): Size => ({
  gas: computeGasLimit(items),
  bytes: items.reduce((sum, each) => sum + countCalldataBytes(each), callBytes),
});

/**
 * Splits a batch's gas among its items in proportion to their estimates. The sum of the shares is
 * exactly the batch's gas.
 *
 * @param gasPerByte the fee for one byte of calldata, in gas; 0 if there is none
 */
export function computeShares({ ready, gas }: Batch, gasPerByte: number): Share[] {
  const weights = ready.map((each) => each.gas + gasPerByte * countCalldataBytes(each));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const gases = weights.map((weight) => Math.floor((gas * weight) / sum));
  gases[0]! += gas - gases.reduce((all, each) => all + each, 0);
  return ready.map(({ item: { job }, isTipped = false }, index) => ({
    address: job.address,
    gas: gases[index]!,
    accountId: job.accountId,
    isClientId: job.isClientId,
    isTipped,
  }));
}

/**
 * The approximate gas of a recovery of one token, without its calldata. The first recovery of an
 * unexecuted intent deploys the vault. Each figure is between the values `plain` and `USDC` of an
 * entry in contracts/snapshots/gas.json. The entry is "refund, expired" for `deploys`, and "late
 * sweep" for `isDeployed`.
 */
const recoveryGas = { deploys: 94_000, isDeployed: 50_000 };

/** Returns the approximate cost of a recovery in wei, at the current fees. */
export function estimateRecoveryCost(item: Examined, { neededPerGas, perByte }: Purse): bigint {
  const terms = fromHex(item.job.terms);
  const weight = terms.reduce((sum, byte) => sum + (byte === 0 ? 1 : nonzeroFactor), 0);
  const gas = Math.max(
    (item.vault.hasCode ? recoveryGas.isDeployed : recoveryGas.deploys) +
      calldataGas.usual * weight,
    transactionGasMin + calldataGas.floor * weight,
  );
  const bytes = countCalldataBytes({ kind: "recover", item, tokens: [] });
  return computeCost({ gas, bytes }, neededPerGas, perByte);
}

type GasUsePass = Pass<{ pace: BlockPace }>;

const simulateMethod = "eth_simulateV1";

/**
 * The maximum number of executions in one `eth_simulateV1` call. For slow accounts, there is a
 * separate call for each execution.
 */
const executionsPerCallMax = 50;
/**
 * `callMsMax` limits the duration of one call. `slowStartMs` is the time during which calls for
 * slow accounts can start.
 */
const callMsMax = 1500;
const slowStartMs = 500;

/** An endpoint that does not support `eth_simulateV1` is asked again only after this time. */
const missingMs = hourMs;

/**
 * Measures how much gas each execution uses if its gas limit is `limit`. Asks a quorum of the
 * endpoints that support the method. Omits executions for which no endpoint answered in time. If
 * two answers differ, uses the higher one.
 *
 * The measurement is necessary because an execution can succeed with too little gas. For example, a
 * contract can ignore that one of its calls ran out of gas.
 */
export async function readGasUses(
  pass: GasUsePass,
  endpoints: readonly EndpointClient[],
  items: readonly Examined[],
  purse: Purse,
  limit: number,
): Promise<Map<Examined, number>> {
  if (items.length === 0) return new Map();
  const { parts, view } = pass;
  const nowMs = parts.clock();
  const isWilling = ({ record }: EndpointClient) => nowMs >= record.estimates.withoutGasUseUntilMs;
  const clients = endpoints.filter(isWilling).slice(0, view.quorum);
  const found = new Map<Examined, bigint[]>(items.map((item) => [item, []]));
  await Promise.all(
    clients.map(async (client) => {
      for await (const [item, gas] of requestGasUses(pass, client, items, purse, limit)) {
        found.get(item)!.push(gas);
      }
    }),
  );
  const uses = [...found].map(([item, all]) => [item, upperMedian(all)] as const);
  return new Map(uses.flatMap(([item, gas]) => (gas === undefined ? [] : [[item, Number(gas)]])));
}

/**
 * Asks one endpoint how much gas each execution uses. Starts with the accounts whose executions are
 * simulated fast.
 */
async function* requestGasUses(
  pass: GasUsePass,
  client: EndpointClient,
  items: readonly Examined[],
  purse: Purse,
  limit: number,
): AsyncGenerator<[Examined, bigint]> {
  const { clock, tuning } = pass.parts;
  const { accountMs } = client.record.estimates;
  const isQuick = ({ job }: Examined) => (accountMs.get(job.accountId) ?? 0) <= slowMs;
  const quickUntilMs = clock() + tuning.estimateMsMax / 2;
  const quick = [...groupsOf(items.filter(isQuick), executionsPerCallMax)];
  const slow = items.filter((item) => !isQuick(item)).map((item) => [item]);
  let slowUntilMs = Number.POSITIVE_INFINITY;
  for (const [place, group] of [...quick, ...slow].entries()) {
    if (place === quick.length) slowUntilMs = clock() + slowStartMs;
    if (clock() > (place < quick.length ? quickUntilMs : slowUntilMs)) continue;
    const answer = await requestGasUse(
      pass,
      client,
      writeGasUseVariants(pass, purse, group, limit),
    );
    if (!answer) return;
    for (const [index, item] of group.entries()) {
      const gas = findCallGas(answer, index);
      if (gas !== undefined) yield [item, gas];
    }
  }
}

/** @returns undefined if the endpoint is slow, does not answer, or does not support the method */
async function requestGasUse(
  pass: GasUsePass,
  client: EndpointClient,
  variants: readonly Call[],
): Promise<Answer | undefined> {
  for (const [index, variant] of variants.entries()) {
    const answers = await client.ask([variant], callMsMax);
    if (typeof answers === "string") return undefined;
    const answer = answers[0]!;
    if (isVariantRefused(simulateMethod, answer) && index < variants.length - 1) continue;
    if ("error" in answer && classifyError(simulateMethod, answer.error) === "no_method") {
      recordWithoutGasUse(client.record, pass.parts.clock() + missingMs);
      return undefined;
    }
    return answer;
  }
  return undefined;
}

function writeGasUseVariants(
  pass: GasUsePass,
  purse: Purse,
  group: readonly Examined[],
  gas: number,
): Call[] {
  const calls = group.map(({ job }) => ({
    ...{ from: pass.signer.address, to: pass.parts.factory },
    ...{ data: toHex(executeCalldata(job.terms)), gas: toQuantity(gas) },
  }));
  return simulationVariants(surroundingsOf(pass, purse), calls, purse.balance);
}

/** Returns the gas used by the call at `place`; undefined if the call failed or is missing. */
function findCallGas(answer: Answer, place: number): bigint | undefined {
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
 * Returns the gas to reserve for an execution. If `use` is known, the reserved gas is enough for
 * the work that the execution does with the gas limit `limit`. If `gasMax` is too low for this
 * amount, reserves as much as `gasMax` allows.
 *
 * @param estimate the lowest limit at which the execution succeeds
 * @param use the gas that the execution uses if its gas limit is `limit`; undefined if unknown
 * @param gasMax the gas limit of a transaction
 */
export function planGas(estimate: number, use: number | undefined, limit: number, gasMax: number) {
  if (use === undefined) return estimate;
  if (!dependsOnGas(estimate, use)) return Math.max(estimate, use);
  // This execution does more work if it gets more gas. On chain, it must therefore get as much gas
  // as in the simulation. In a batch, an item gets 63/64 of its share of the gas.
  const needed = Math.min((limit * 64) / 63, gasMax - baseGas);
  return Math.max(estimate, Math.floor(needed / gasMargin));
}
