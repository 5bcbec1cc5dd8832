// One pass over one chain, in order: hold the lease, look where the chain is, find payments, settle
// what is final, keep what is on its way moving, start what is due, then look at new records. Each
// step leaves the ledger such that being killed after it loses nothing.

import { openNetwork } from "../chain/rpc/network.ts";
import { holdLease } from "./hold-lease.ts";
import { work } from "./jobs/work.ts";
import type { Memory, Parts, Pass } from "./parts.ts";
import { freshLooks, lookAtNew } from "./payments/look.ts";
import { sweep } from "./payments/sweep.ts";
import { openPurse, readNonce } from "./transactions/send.ts";
import { settle } from "./transactions/settle.ts";
import { upkeep } from "./transactions/upkeep.ts";

const firstRangeBlocks = 500;

export function freshMemory(parts: Parts): Memory {
  return {
    network: openNetwork(parts.chain.chainId, parts.endpoints, parts.report, parts.clock),
    fence: undefined,
    watched: undefined,
    head: undefined,
    sweepTurn: 0,
    examineTurn: 0,
    sweptHead: undefined,
    isFactoryThere: false,
    rangeBlocks: firstRangeBlocks,
    seen: new Map(),
    looks: freshLooks(),
    sentMs: new Map(),
    underpriced: new Set(),
    absent: new Map(),
  };
}

/** @throws what stopped it: the next pass begins anew from the ledger */
export async function runPass(parts: Parts, memory: Memory): Promise<void> {
  const fence = await holdLease(parts, memory);
  if (!fence) return;
  const view = await memory.network.look();
  const now = chainNow(memory, view.head, parts.clock());
  const pass: Pass = { parts, memory, fence, view, now };

  const swept = await sweep(pass);
  const nonce = await readNonce(pass);
  const { chainId } = parts.chain;
  await settle(pass, await parts.ledger.findPending(chainId, parts.signer.address), nonce);
  const pending = await parts.ledger.findPending(chainId, parts.signer.address);
  const purse = await openPurse(pass, pending);
  const isLow = purse.balance < parts.chain.balanceWarnBelow;
  parts.report({ kind: "balance", wei: purse.balance, isLow });
  await upkeep(pass, purse, pending, nonce);
  const inFlight = pending.length;
  const due = await work(pass, purse, inFlight);

  const blocksBehind = Math.max(0, view.head.number - parts.chain.paymentConfirmations - swept);
  const secondsBehind = blocksBehind === 0 ? 0 : now - view.head.timestamp;
  parts.report({ kind: "pass", blocksBehind, secondsBehind, due, inFlight });
  // Last, so that nothing that goes wrong here holds up what is known to be paid.
  await lookAtNew(pass);
}

/**
 * The chain's clock, in seconds: the head's time, and what has passed by ours since it was first
 * seen. The host's idea of what time it is never enters; only how fast its clock goes does.
 */
function chainNow(memory: Memory, head: { hash: `0x${string}`; timestamp: number }, ms: number) {
  if (memory.head?.hash !== head.hash) {
    memory.head = { hash: head.hash, sinceMs: ms };
  }
  return head.timestamp + Math.floor((ms - memory.head.sinceMs) / 1000);
}
