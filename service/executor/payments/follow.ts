// Connects ../../follow/, which reads the logs of new blocks, to the executor's ledger.

import { groupsOf } from "../../flow/groups.ts";
import type { SweepContext } from "../../follow/context.ts";
import type { FollowMemory } from "../../follow/memory.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Pass } from "../pass.ts";
import type { ScanMemory } from "./scan.ts";

/** Returns the parts of a sweep, which reads logs and saves payments for the executor. */
export function sweepContext(pass: Pass<ScanMemory & { follow: FollowMemory }>): SweepContext {
  const { parts, memory, fence, view } = pass;
  const { ledger, chain, signers, report, tuning } = parts;
  const { chainId } = chain;
  // `nowSeconds` includes the time that this host has measured since the newest block. Jobs are due
  // no later than the block's timestamp, so a wrong measurement does not delay them.
  const dueSeconds = Math.min(pass.nowSeconds, view.head.timestamp);
  return {
    chain,
    view,
    tuning,
    report,
    memory: memory.follow,
    store: {
      matchAddresses: ledger.matchAddresses,
      findCreated: ledger.findCreated,
      findRequestedTokens: (seq) => ledger.findRequestedTokens(chainId, dueSeconds, seq),
      findOldestCreation: ledger.findOldestCreation,
      findAnchor: (before) => ledger.findAnchor(chainId, before),
      async save(anchor, payments, isGap, agreed) {
        await ledger.savePayments(fence, { anchor, payments, isGap, agreed }, dueSeconds);
        memory.scan.isOutdated ||= isGap;
      },
      async wake(addresses) {
        const block = { number: view.head.number, timestamp: dueSeconds };
        const hints = addresses.map((address) => ({ address, block, isEnough: true }));
        // A stranger can pay thousands of addresses in one block. Several short commits save the
        // found money, because requests that create addresses wait for a commit.
        for (const group of groupsOf(hints, statementRows.costly)) {
          const woken = await ledger.saveScan(fence, group, undefined);
          for (const { address } of woken) {
            report({ kind: "detected", address, blockNumber: block.number });
          }
        }
      },
      async undoAbove(number) {
        for (const { address } of signers) {
          for (const each of await ledger.findConfirmedAbove(chainId, address, number)) {
            await ledger.reopenPurpose(fence, each.id, each.addresses);
            report({ kind: "reopened", nonce: each.nonce });
          }
        }
        await ledger.forgetAbove(fence, number);
      },
    },
  };
}
