// The shape of the answer of `POST /v1/address/check`: the record that create would make, and the
// doubts about paying its address. Only the record is proof; one node computed the rest.

import type { AddressRecord } from "../intent/intent.ts";
import { list, matching, object, path, proved, type TypeOf, text } from "../shape.ts";
import { simulation } from "./simulation.ts";

/** Every kind of finding. spec/service.md, "Check", says what each means; the list may grow. */
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

const codePattern = /^[a-z0-9_]{1,64}$/;

/** A doubt about an intent, and how to remove it. */
export const finding = object({
  /** The place in the intent, as in an issue: `["calls", 0, "target"]`. */
  path,
  /** The kind: spec/service.md, "Check". The list may grow. */
  code: matching<FindingCode>(codePattern),
  /**
   * Describes the finding. A contract may have chosen some of the words, which are printable ASCII.
   */
  message: text,
  /** The suggested change. */
  cure: text,
});
export type Finding = TypeOf<typeof finding>;

/** Somebody else can change this until the address is paid. It is not a fault of the intent. */
export const note = object({
  /** The place in the intent. */
  path,
  /** `token_may_change`, `target_may_change`; the list may grow. */
  code: matching(codePattern),
  /** The kind of change that is possible. */
  message: text,
});
export type Note = TypeOf<typeof note>;

/** The record that create would answer, tried and examined. */
export const check = object({
  /**
   * The record that create would answer, with a random salt if the intent had none.
   *
   * @ref AddressRecord
   */
  record: proved<AddressRecord>(),
  /** A run with the amount assumed. */
  simulation,
  /** Empty if nothing is doubtful. */
  findings: list(finding),
  /** Possible changes by others until the address is paid. */
  notes: list(note),
});
export type Check = TypeOf<typeof check>;
