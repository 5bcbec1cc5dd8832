// The events that the executor reports, in its log (log.ts) and as Prometheus metrics (metrics.ts).

import type { Hex } from "executable-address";
import type { NetworkEvent } from "../../chain/rpc/endpoint-record.ts";
import type { View } from "../../chain/rpc/view.ts";
import type { FollowEvent } from "../../follow/context.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { Reason } from "../ledger/reasons.ts";

export type ExecutorEvent =
  | NetworkEvent
  | FollowEvent
  | { kind: "lease_taken"; epoch: number }
  | { kind: "lease_lost" }
  | {
      kind: "pass";
      blocksBehind: number;
      secondsBehind: number;
      due: number;
      /** The time for which the oldest unprocessed payment has waited for the executor. */
      waitedSeconds: number;
      inFlight: number;
      scores: View["scores"];
      /** The part of the chain's daily budget that is already spent or reserved, from 0 to 1. */
      budgetShare: number;
    }
  | { kind: "pass_failed"; message: string }
  | { kind: "corrupt_record"; address: Hex; cause: string }
  | { kind: "attempt_failed"; address: Hex; reason: string }
  | { kind: "given_up"; address: Hex; reason: Reason }
  | { kind: "sent"; purpose: Purpose["kind"]; nonce: number; hash: Hex; addresses: number }
  | { kind: "replaced"; nonce: number; hash: Hex }
  | { kind: "fee_capped"; nonce: number }
  | { kind: "send_refused"; nonce: number; rpc: string; message: string }
  | { kind: "executed" | "recovered"; address: Hex; hash: Hex }
  | {
      kind: "settled";
      purpose: Purpose["kind"];
      sender: Hex;
      nonce: number;
      paid: bigint;
      tips: bigint;
    }
  | { kind: "reopened"; nonce: number }
  | { kind: "nonce_foreign"; nonce: number; hash: Hex }
  | { kind: "nonces_written_off"; sender: Hex; count: number; wei: bigint }
  | { kind: "gap_filled"; nonce: number }
  | { kind: "late_jobs"; count: number }
  | { kind: "signer_failed"; sender: Hex; message: string }
  | { kind: "balance"; sender: Hex; wei: bigint; isLow: boolean }
  | { kind: "stopped_for_balance" };
