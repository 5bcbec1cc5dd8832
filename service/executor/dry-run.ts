// Decides as a pass does over what is due now, and tells what it would send in place of sending:
// nothing is signed, and nothing is stored.

import type { Hex } from "executable-address";
import { pino } from "pino";
import { Registry } from "prom-client";
import { work } from "./jobs/work.ts";
import type { JobUpdate } from "./ledger/jobs.ts";
import { shareOut } from "./money/budgets.ts";
import type { Parts, Pass } from "./pass.ts";
import { type Memory, openDayBudgets, openMemory } from "./run.ts";
import { coresOf, type ExecutorParts } from "./start.ts";
import { openPurse } from "./transactions/send.ts";

/** `weiMax`: what a transaction, or an address's part of it, may cost at most, decimal. */
type Planned = {
  kind: string;
  sender: Hex;
  gas: number;
  weiMax: string;
  addresses: { address: Hex; accountId: string; weiMax: string }[];
};

/** `waiting`: what would not be sent now, by the reason. */
type Plan = {
  chainId: number;
  block: number;
  weiMax: string;
  transactions: Planned[];
  waiting: { address: Hex; reason: string | null }[];
};

/**
 * A plan for each chain.
 * @throws {ChainUnavailable} where no endpoint of a chain answers
 */
export async function dryRunAll(
  parts: Omit<ExecutorParts, "registry" | "log" | "onHead" | "onSwept">,
): Promise<Plan[]> {
  const chains = parts.chains.map((chain) => ({ ...chain, wsUrls: [] }));
  const silent = { registry: new Registry(), log: pino({ level: "silent" }) };
  const plans: Plan[] = [];
  for (const core of coresOf({ ...parts, chains, ...silent }, AbortSignal.abort())) {
    plans.push(await dryRun(core));
  }
  return plans;
}

/** @throws {ChainUnavailable} where no endpoint answers */
export async function dryRun(core: Parts): Promise<Plan> {
  const updates: JobUpdate[] = [];
  const transactions: Planned[] = [];
  let sum = 0n;
  const parts: Parts = {
    ...core,
    report: () => {},
    ledger: {
      ...core.ledger,
      updateJobs: async (_, more) => void updates.push(...more),
    },
    onPlanned({ kind, gas, shares }, sender, wei) {
      sum += wei;
      const costs = shareOut(wei, shares);
      const addresses = shares.map(({ address, accountId }) => {
        return { address, accountId, weiMax: `${costs.get(address)}` };
      });
      transactions.push({ kind, sender, gas, weiMax: `${wei}`, addresses });
    },
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
      const purse = openPurse(own, pending);
      return { pass: own, nonce: 0, isFresh: false, pending, unmined: pending, openPurse: purse };
    }),
  );
  const pending = keys.flatMap((key) => key.pending);
  await work(pass, keys, openDayBudgets(pass, pending, keys[0]!.openPurse));
  const waiting = updates.map(({ address, reason }) => ({ address, reason }));
  return { chainId, block: view.head.number, weiMax: `${sum}`, transactions, waiting };
}
