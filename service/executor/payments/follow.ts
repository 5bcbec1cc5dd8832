// Connects the log reader (../../follow/) to the executor's database functions (../ledger/).

import { groupsOf } from "../../flow/groups.ts";
import type { FollowMemory, SweepContext } from "../../follow/context.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Pass } from "../pass.ts";
import type { ScanMemory } from "./scan.ts";

/** Returns the input for a sweep. A sweep reads new logs and saves the payments in them. */
export function sweepContext(pass: Pass<ScanMemory & { follow: FollowMemory }>): SweepContext {
  const { parts, memory, fence, view } = pass;
  const { ledger, chain, signers, report, tuning } = parts;
  const { chainId } = chain;
  // `nowSeconds` is the newest block's timestamp plus the time that this host has measured since
  // then. The measured time can be wrong and must not delay jobs. Therefore, a job's due time is
  // never later than the block's timestamp.
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
        // A stranger can pay thousands of addresses in one block. The payments are saved in several
        // short commits, because each commit delays requests that create addresses.
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
