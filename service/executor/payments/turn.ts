// Gives the loop of a chain the executor's ledger, and undoes what a reorganisation took back.

import type { Turn } from "../../follow/parts.ts";
import type { Pass } from "../parts.ts";

export function turnOf(pass: Pass): Turn {
  const { parts, memory, fence, view } = pass;
  const { ledger, chain, signers, report, tuning } = parts;
  const { chainId } = chain;
  // Never later than the head itself: time since it was seen is this host's word.
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
      findOldestCreation: ledger.findOldestCreation,
      findAnchor: (before) => ledger.findAnchor(chainId, before),
      async keep(anchor, payments, isGap) {
        await ledger.savePayments(fence, { anchor, payments, isGap }, dueSeconds);
        memory.looks.isOutdated ||= isGap;
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
