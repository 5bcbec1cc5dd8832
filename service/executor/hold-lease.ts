// Keeps the lease that makes this process the one sender of a chain, or waits to take it.

import { type Fence, LeaseLost } from "./ledger/lease.ts";
import type { Memory, Parts } from "./parts.ts";

/** The lease, renewed or newly taken; undefined while another instance shows that it lives. */
export async function holdLease(parts: Parts, memory: Memory): Promise<Fence | undefined> {
  const { ledger, tuning, report, instance, chain } = parts;
  if (memory.fence) {
    try {
      await ledger.renewLease(memory.fence);
      return memory.fence;
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      memory.fence = undefined;
      report({ kind: "lease_lost" });
    }
  }
  const seen = await ledger.findLease(chain.chainId);
  if (seen && seen.holder !== "" && !isSilent(memory, seen, parts.clock(), tuning.leaseMs)) {
    return undefined;
  }
  memory.fence = await ledger.takeLease(chain.chainId, instance, seen);
  if (memory.fence) report({ kind: "lease_taken", epoch: memory.fence.epoch });
  return memory.fence;
}

function isSilent(
  memory: Memory,
  seen: NonNullable<Memory["watched"]>["lease"],
  nowMs: number,
  leaseMs: number,
): boolean {
  const last = memory.watched;
  const isSame = last?.lease.epoch === seen.epoch && last.lease.renewals === seen.renewals;
  if (!last || !isSame) {
    memory.watched = { lease: seen, sinceMs: nowMs };
    return false;
  }
  return nowMs - last.sinceMs >= leaseMs;
}
