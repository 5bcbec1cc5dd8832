// From due jobs to transactions: look, decide, try out, put together, send. An address that fails
// is set aside with a time of its own, so it takes nothing from the others but its look.

import { keccak256 } from "viem";
import { hexData, resultOf } from "../../chain/rpc/json-rpc.ts";
import type { Job, JobUpdate } from "../ledger/jobs.ts";
import { dayOf } from "../ledger/settlements.ts";
import type { Pass } from "../parts.ts";
import { canAfford, nextNonce, type Order, type Purse, send } from "../transactions/send.ts";
import { backoffSeconds } from "./backoff.ts";
import { type Batch, batchesOf, type Ready, recoverGas } from "./batch.ts";
import { executeBatchCalldata, executeCalldata, recoverCalldata } from "./calldata.ts";
import { type Decision, decide, type Fees } from "./decide.ts";
import { type Examined, examine } from "./examine.ts";
import { simulateExecutions, simulateRecovery } from "./simulate.ts";

/** When a node could not say what would happen. */
const unknownSeconds = 15;

/** Money was seen, yet nothing is there: one endpoint may lag, so another is asked once more. */
const secondLookSeconds = 60;

/** @returns how many jobs were due; none are looked at while nothing more may be sent */
export async function work(pass: Pass, purse: Purse, inFlight: number): Promise<number> {
  const { parts, view, now } = pass;
  const { chainId } = parts.chain;
  if (inFlight >= parts.tuning.inFlightMax) return 0;
  const jobs = await parts.ledger.findDueJobs(chainId, now, parts.tuning.jobsPerPass);
  if (jobs.length === 0) return 0;
  await assertFactory(pass);
  const { examined, corrupt } = await examine(pass, jobs);
  const spentToday = await parts.ledger.findSpending(chainId, dayOf(view.head.timestamp));
  const decided = decideAll(pass, purse, spentToday, examined);
  const updates = decided.flatMap(({ item, decision }) => updateOf(pass, item, decision));
  updates.push(...corrupt.map((job) => setAside(pass, job)));
  const orders = [
    ...(await orderExecutions(pass, decided, updates)),
    ...(await orderRecoveries(pass, decided, updates, parts.tuning.inFlightMax - inFlight)),
  ];
  if (updates.length > 0) await parts.ledger.updateJobs(pass.fence, updates);
  await sendOrders(pass, purse, spentToday, orders, inFlight);
  return jobs.length;
}

/** Calls to an address without code succeed and do nothing, so first it is known to be there. */
async function assertFactory({ parts, memory, view }: Pass): Promise<void> {
  if (memory.isFactoryThere) return;
  const [answer] = await view.read([{ method: "eth_getCode", params: [parts.factory, view.at] }]);
  const found = keccak256(hexData(resultOf(answer)));
  if (found !== parts.factoryCodeHash) {
    throw new Error(
      `the code at ${parts.factory} hashes to ${found}; wanted ${parts.factoryCodeHash}`,
    );
  }
  memory.isFactoryThere = true;
}

type Decided = { item: Examined; decision: Decision };

function decideAll(
  { parts, now }: Pass,
  purse: Purse,
  spentToday: bigint,
  items: Examined[],
): Decided[] {
  const { chainId, fees, perDayMax, decision: policy } = parts.chain;
  const feesNow: Fees = {
    perGas: purse.neededPerGas,
    perGasMax: fees.perGasMax,
    committedToday: spentToday + purse.reserved,
    perDayMax,
  };
  return items.map((item) => ({
    item,
    decision: decide({
      terms: item.terms,
      chain: { chainId, timeSeconds: now },
      vault: item.vault,
      history: { ...item.job, isInFlight: false, notBeforeSeconds: item.job.notBefore },
      fees: feesNow,
      policy,
    }),
  }));
}

function updateOf({ parts, now }: Pass, { job }: Examined, decision: Decision): JobUpdate[] {
  const { address } = job;
  if (decision.action === "give_up") {
    const { reason } = decision;
    parts.report({ kind: "given_up", address, reason });
    return [{ address, state: "given_up", dueAt: null, reason }];
  }
  if (decision.action !== "wait") return [];
  const { reason, untilSeconds } = decision;
  if (reason !== "nothing_there") {
    return [{ address, state: "waiting", dueAt: untilSeconds, reason }];
  }
  const secondLook = job.detectedAt + secondLookSeconds;
  return [{ address, state: "idle", dueAt: now < secondLook ? secondLook : null, reason: null }];
}

async function orderExecutions(
  pass: Pass,
  decided: readonly Decided[],
  updates: JobUpdate[],
): Promise<Batch[]> {
  const items = decided.filter(({ decision }) => decision.action === "execute");
  const found = await simulateExecutions(
    pass,
    items.map(({ item }) => item),
  );
  const ready: Ready[] = [];
  items.forEach(({ item }, index) => {
    const simulation = found[index]!;
    if (simulation.result === "fails") updates.push(afterFailure(pass, item, simulation.reason));
    else if (simulation.result === "unknown") updates.push(later(pass, item));
    else if (simulation.gas > pass.parts.tuning.intentGasMax) {
      updates.push(afterFailure(pass, item, `takes ${simulation.gas} gas`));
    } else ready.push({ item, gas: simulation.gas });
  });
  return batchesOf(ready, pass.parts.tuning);
}

/** Only as many as can be sent: each costs a simulation of its own. */
async function orderRecoveries(
  pass: Pass,
  decided: readonly Decided[],
  updates: JobUpdate[],
  room: number,
): Promise<Batch[]> {
  const batches: Batch[] = [];
  for (const { item, decision } of decided) {
    if (decision.action !== "recover" || batches.length >= room) continue;
    const { tokens, gas, reason } = await simulateRecovery(pass, item, decision.tokens);
    if (tokens.length > 0) {
      batches.push({ items: [item], tokens, gas: recoverGas(item, tokens, gas) });
    } else updates.push(afterFailure(pass, item, reason));
  }
  return batches;
}

/** Failed without costing anything: again later, and at expiry in any case. */
function afterFailure({ parts, now }: Pass, { job, terms, vault }: Examined, reason: string) {
  const { address } = job;
  const failures = job.failures + 1;
  const waited = now + backoffSeconds(failures, parts.random);
  const isOpen = !vault.hasCode && now <= terms.expirationSeconds;
  const notBefore = isOpen ? Math.min(waited, terms.expirationSeconds + 1) : waited;
  parts.report({ kind: "attempt_failed", address, reason });
  return { address, state: "waiting" as const, dueAt: notBefore, reason, notBefore, failures };
}

/** A record that does not derive its address: nothing can be sent for it that would arrive. */
function setAside({ parts }: Pass, { address }: Job): JobUpdate {
  parts.report({ kind: "corrupt_record", address });
  return { address, state: "given_up", dueAt: null, reason: "corrupt_record" };
}

function later({ now }: Pass, { job }: Examined): JobUpdate {
  const reason = "simulation_unavailable";
  return { address: job.address, state: "waiting", dueAt: now + unknownSeconds, reason };
}

async function sendOrders(
  pass: Pass,
  purse: Purse,
  spentToday: bigint,
  batches: readonly Batch[],
  inFlight: number,
): Promise<void> {
  const { chain, tuning } = pass.parts;
  const room = tuning.inFlightMax - inFlight;
  for (const batch of batches.slice(0, Math.max(0, room))) {
    // The next pass tells whose jobs wait.
    if (spentToday + purse.reserved >= chain.perDayMax) return;
    if (!canAfford(purse, batch.gas)) return pass.parts.report({ kind: "stopped_for_balance" });
    const nonce = await nextNonce(pass);
    if (nonce === undefined) return;
    await send(pass, purse, orderOf(batch, nonce));
  }
}

function orderOf({ items, tokens, gas }: Batch, nonce: number): Order {
  const addresses = items.map((item) => item.job.address);
  const terms = items.map((item) => item.job.terms);
  if (tokens) {
    return { kind: "recover", nonce, data: recoverCalldata(terms[0]!, tokens), gas, addresses };
  }
  const isAlone = terms.length === 1;
  const data = isAlone ? executeCalldata(terms[0]!) : executeBatchCalldata(terms);
  return { kind: "execute", nonce, data, gas, addresses };
}
