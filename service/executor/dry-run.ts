// Computes the transactions that the executor would send for its due jobs now, or, if the chain is
// paused, after the pause. Signs no transaction and saves no data.
//
// Other transactions of a pass are omitted: returns of reported tokens, replacements of pending
// transactions, and transactions that fill nonce gaps. A pass writes to the database before it
// decides about these transactions.

import type { Hex } from "executable-address";
import { pino } from "pino";
import { Registry } from "prom-client";
import { once } from "../flow/together.ts";
import type { SendOrder } from "./jobs/dispatch.ts";
import { work } from "./jobs/work.ts";
import type { JobUpdate } from "./ledger/jobs.ts";
import { divideCost } from "./money/budgets.ts";
import { computeCost } from "./money/fees.ts";
import type { Parts, Pass } from "./pass.ts";
import { type Memory, openMemory, readDayBudgets } from "./run.ts";
import { type ExecutorParts, openParts } from "./start.ts";
import { measureSize, readPurse, reserve } from "./transactions/purse.ts";

/**
 * `weiMax` is the highest possible cost of the transaction. In `addresses`, `weiMax` is each
 * address's share of this cost.
 */
type Planned = {
  kind: string;
  sender: Hex;
  gas: number;
  weiMax: string;
  addresses: { address: Hex; accountId: string; weiMax: string }[];
};

/**
 * `paused` says whether an operator has paused the chain. The executor sends nothing until an
 * operator resumes a paused chain. `waiting` lists the due jobs that would not cause a transaction
 * now, and the reasons.
 */
type Plan = {
  chainId: number;
  paused: boolean;
  block: number;
  weiMax: string;
  transactions: Planned[];
  waiting: { address: Hex; reason: string | null }[];
};

/**
 * Returns a plan for each chain.
 *
 * @throws {ChainUnavailable} if no endpoint of a chain answers
 */
export async function dryRunAll(
  parts: Omit<ExecutorParts, "registry" | "log" | "listenersOf">,
): Promise<Plan[]> {
  const chains = parts.chains.map((chain) => ({ ...chain, wsUrls: [] }));
  const silent = { registry: new Registry(), log: pino({ level: "silent" }) };
  const plans: Plan[] = [];
  for (const core of openParts({ ...parts, chains, ...silent }, AbortSignal.abort())) {
    plans.push(await dryRun(core));
  }
  return plans;
}

/** @throws {ChainUnavailable} if no endpoint answers */
export async function dryRun(core: Parts): Promise<Plan> {
  const updates: JobUpdate[] = [];
  const transactions: Planned[] = [];
  let sum = 0n;
  const parts: Parts = {
    ...core,
    report: () => {},
    // `work` writes only with the two functions that this object replaces. The fence below has an
    // epoch that no lease has, so any other write would throw.
    ledger: {
      ...core.ledger,
      updateJobs: async (_, more) => void updates.push(...more),
      saveBalances: async () => {},
    },
  };
  const plan: SendOrder = async ({ pass, purse }, order) => {
    const { kind, gas, shares } = order;
    const wei = computeCost(measureSize(order), purse.suggested.maxFee, purse.perByte);
    reserve(purse, wei);
    sum += wei;
    const costs = divideCost(wei, shares);
    const addresses = shares.map(({ address, accountId }) => {
      return { address, accountId, weiMax: `${costs.get(address)}` };
    });
    const sender = pass.signer.address;
    transactions.push({ kind, sender, gas, weiMax: `${wei}`, addresses });
    return undefined;
  };
  const memory = openMemory(parts);
  const view = await memory.network.openView();
  const { chainId } = parts.chain;
  const base = { parts, memory, view, fence: { chainId, epoch: 0 } };
  const pass: Pass<Memory> = { ...base, nowSeconds: view.head.timestamp, signer: parts.signers[0] };
  const keys = await Promise.all(
    parts.signers.map(async (signer) => {
      const own = { ...pass, signer };
      const pending = await parts.ledger.findPending(chainId, signer.address);
      const purse = once(() => readPurse(own, pending));
      const known = { pending, unmined: pending, sent: 0 };
      return { pass: own, nonce: 0, isFresh: false, ...known, openPurse: purse };
    }),
  );
  const pending = keys.flatMap((key) => key.pending);
  await work(
    pass,
    keys,
    once(() => readDayBudgets(pass, pending, keys[0]!.openPurse)),
    plan,
  );
  const waiting = updates.map(({ address, reason }) => ({ address, reason }));
  const paused = await parts.ledger.isPaused(chainId);
  return { chainId, paused, block: view.head.number, weiMax: `${sum}`, transactions, waiting };
}
