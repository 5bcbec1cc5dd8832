// The answer of `POST /v1/address/check`: the record that create would make, and what is doubtful
// about paying its address. Only the record is proof; the rest is what one node computed.

import type { Path } from "../errors.ts";
import type { AddressRecord } from "../intent/intent.ts";
import type { Simulation } from "./simulation.ts";

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
  "token_paused",
  "token_blocks_address",
  "token_refuses_transfers",
  "token_takes_fee",
  "gas_beyond_ceiling",
  "expires_too_near",
  "money_lost",
  "receiver_cannot_move",
  "fails_at_expiry",
  "depends_on_executor",
] as const;

export type FindingCode = (typeof findingCodes)[number];

export type Finding = {
  /** The place in the intent, as in an issue: `["calls", 0, "target"]`. */
  readonly path: Path;
  readonly code: FindingCode;
  /** Says what was found. A contract may have chosen some of the words: printable ASCII. */
  readonly message: string;
  /** Says what to change. */
  readonly cure: string;
};

/** Somebody else can change this until the address is paid. It is no fault of the intent. */
export type Note = {
  readonly path: Path;
  /** `token_may_change`, `target_may_change`; the list may grow. */
  readonly code: string;
  readonly message: string;
};

export type Check = {
  /** The record that create would answer, with a drawn salt where the intent had none. */
  readonly record: AddressRecord;
  readonly simulation: Simulation;
  /** Empty: nothing doubtful was found. */
  readonly findings: readonly Finding[];
  readonly notes: readonly Note[];
};
