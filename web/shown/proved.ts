// Finds the payers and recipients in the chain's logs. The server returns the logs with a proof,
// which this browser verifies. The proof does not show that its blocks belong to the chain. To
// check this, pay/receipt.tsx uses a wallet's node.

import type { AddressRecord, Hex } from "executable-address";
import type { AddressProof, ProvedReceipt, SavedReceipt } from "executable-address/proof";
import type { ServiceStatus } from "executable-address/status";
import { useEffect, useState } from "react";
import { askUntilCaughtUp } from "./caught-up.ts";

type ServedProof = AddressProof & Pick<SavedReceipt, "payments"> & { paymentsOmitted?: number };

/**
 * @returns undefined if the server responds with an error
 * @throws if the server does not respond
 */
export async function fetchProof(address: Hex): Promise<ServedProof | undefined> {
  const answer = await fetch(`/v1/address/${address}/proof`, { cache: "no-store" });
  return answer.ok ? ((await answer.json()) as ServedProof) : undefined;
}

/**
 * All fields are proven except `paymentsOmitted`, the number of transactions with payments that the
 * response omits.
 */
type ProvedMoney = ProvedReceipt & { readonly paymentsOmitted: number };

/** `awaited` while the proof is loading. Undefined if there is no proof. */
export type Proved = ProvedMoney | "awaited" | undefined;

/** Requests the proof when money arrives, and again when the balance changes. */
export function useProved(record: AddressRecord, status: ServiceStatus | undefined): Proved {
  const [proved, setProved] = useState<Proved>("awaited");
  const { execution, recoveries = [], recoverable = [], balance = "0", block } = status ?? {};
  const money = [...recoveries, ...recoverable].map(({ amount }) => amount);
  const isPaid = Boolean(execution) || money.length > 0 || balance !== "0";
  const state = isPaid ? `${status!.state} ${balance} ${money}` : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new block needs no new proof
  useEffect(() => {
    if (state === undefined) return;
    const stopping = new AbortController();
    const find = async () => {
      const proof = await fetchProof(record.address);
      if (!proof) return undefined;
      const { receiptFormat, verifyReceipt } = await import("executable-address/proof");
      const { payments, paymentsOmitted = 0 } = proof;
      const found = verifyReceipt({ format: receiptFormat, record, proof, payments }, "its own");
      return { ...found, paymentsOmitted };
    };
    const isBehind = (found: ProvedMoney | undefined) =>
      !found ||
      found.block.number < block!.number ||
      Boolean(execution) !== Boolean(found.execution);
    void askUntilCaughtUp(() => find().catch(() => undefined), isBehind, stopping.signal).then(
      (found) => {
        if (!stopping.signal.aborted) setProved(found);
      },
    );
    return () => stopping.abort();
  }, [record, state]);
  return isPaid ? proved : undefined;
}
