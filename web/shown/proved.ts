// Who paid and who received, as the logs of the chain tell. The proof is checked in this browser,
// and is right if its blocks are of the chain: a wallet's node tells that, in pay/witness.tsx.

import type { AddressRecord, Hex } from "executable-address";
import type { AddressProof, ProvedReceipt, SavedReceipt } from "executable-address/proof";
import type { ServiceStatus } from "executable-address/status";
import { useEffect, useState } from "react";
import { caughtUp } from "./caught-up.ts";

type ServedProof = AddressProof & Pick<SavedReceipt, "payments">;

/** @returns undefined where the server has none that verifies, or does not answer */
export async function fetchProof(address: Hex): Promise<ServedProof | undefined> {
  const answer = await fetch(`/v1/address/${address}/proof`, { cache: "no-store" });
  return answer.ok ? ((await answer.json()) as ServedProof) : undefined;
}

/** `awaited`: it is on its way; undefined: there is none. */
export type Proved = ProvedReceipt | "awaited" | undefined;

/** Asks once money has left the address or can only return: before that there is no outcome. */
export function useProved(record: AddressRecord, status: ServiceStatus | undefined): Proved {
  const [proved, setProved] = useState<Proved>("awaited");
  const { execution, recoveries, recoverable, block } = status ?? {};
  const money = [...(recoveries ?? []), ...(recoverable ?? [])].map(({ amount }) => amount);
  const isSettled = Boolean(execution) || money.length > 0;
  const state = isSettled ? `${status!.state} ${money}` : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the block is the one of that state
  useEffect(() => {
    if (state === undefined) return;
    const stopping = new AbortController();
    const find = async () => {
      const proof = await fetchProof(record.address);
      if (!proof) return undefined;
      const { receiptFormat, verifyReceipt } = await import("executable-address/proof");
      const { payments } = proof;
      return verifyReceipt({ format: receiptFormat, record, proof, payments }, "its own");
    };
    const isBehind = (found: ProvedReceipt | undefined) =>
      !found ||
      found.block.number < block!.number ||
      Boolean(execution) !== Boolean(found.execution);
    void caughtUp(() => find().catch(() => undefined), isBehind, stopping.signal).then((found) => {
      if (!stopping.signal.aborted) setProved(found);
    });
    return () => stopping.abort();
  }, [record, state]);
  return isSettled ? proved : undefined;
}
