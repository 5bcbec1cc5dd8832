// The shape of the answer of `POST /v1/address/check`. The answer contains the record that a create
// request would return, a simulation, findings, and notes. The client can verify only the record.
// The service computes the simulation, the findings, and the notes with one node.

import type { AddressRecord } from "../intent/intent.ts";
import { codePattern, list, matching, object, path, proved, type TypeOf, text } from "../shape.ts";
import { simulation } from "./simulation.ts";

/** All known kinds of findings (spec/service.md, "Check"). New kinds can be added. */
export const findingCodes = [
  "address_is_over",
  "not_simulated",
  "target_without_code",
  "target_is_wallet",
  "call_reverts",
  "money_left_over",
  "other_tokens_left",
  "allowance_left",
  "amount_decimals",
  "amount_beyond_supply",
  "recovery_cannot_receive",
  "recovery_refuses_coin",
  "recovery_is_token",
  "recovery_without_code_on",
  "recovery_looks_like_exchange",
  "token_paused",
  "token_blocks_address",
  "token_refuses_transfers",
  "token_takes_fee",
  "gas_beyond_ceiling",
  "work_depends_on_gas",
  "expires_too_near",
  "money_lost",
  "receiver_cannot_move",
  "fails_at_expiry",
  "depends_on_executor",
  "condition_of_other_chain",
] as const;

export type FindingCode = (typeof findingCodes)[number];

/** A likely mistake in an intent, and how to correct it. */
export const finding = object({
  /** The position in the intent, as field names and array indices: `["calls", 0, "target"]`. */
  path,
  /** The kind of finding (spec/service.md, "Check"). New codes can be added. */
  code: matching<FindingCode>(codePattern),
  /**
   * A description of the finding in printable ASCII. The description can contain text that a
   * contract returned.
   */
  message: text,
  /** The suggested change. */
  cure: text,
});
export type Finding = TypeOf<typeof finding>;

/**
 * A fact that is not a mistake in the intent. For example, others can change a contract before the
 * address is paid.
 */
export const note = object({
  /** The path in the intent. */
  path,
  /** `token_may_change`, `target_may_change`, or `recovery_unmeasured`. New codes can be added. */
  code: matching(codePattern),
  /** A description of the fact. */
  message: text,
});
export type Note = TypeOf<typeof note>;

/** The record that a create request would return, a simulation, and the findings. */
export const check = object({
  /**
   * The record that a create request would return. The salt is random if the intent has none.
   *
   * @ref AddressRecord
   */
  record: proved<AddressRecord>(),
  /** A simulation that assumes that the full amount was paid. */
  simulation,
  /** Likely mistakes in the intent. Empty if the service found none. */
  findings: list(finding),
  /**
   * Facts that are not mistakes in the intent. For example, others can change the token's contract
   * before the address is paid.
   */
  notes: list(note),
});
export type Check = TypeOf<typeof check>;
