// Defines the reasons why a job waits or stops. The table in docs/executor.md must contain the same
// reasons (reasons.test.ts).

import { paymentFactoryAbi } from "executable-address-contracts";

type Traits = {
  /** The job waits until its intent expires, which can be far in the future. */
  untilExpiry?: true;
  /** The executor itself caused the wait, for example because a key failed to sign. */
  isOwn?: true;
};

const reasons = {
  account_budget_spent: {},
  awaiting_block: {},
  awaiting_confirmations: {},
  backoff: {},
  budget_spent: {},
  client_id_budget_spent: {},
  corrupt_record: {},
  dropped_by_operator: {},
  earlier_nonces_unknown: { isOwn: true },
  endpoints_disagree_on_nonce: { isOwn: true },
  execution_keeps_failing: { untilExpiry: true },
  executor_out_of_gas_money: {},
  failed_tips_budget_spent: {},
  fees_over_cap: {},
  no_free_slot: { isOwn: true },
  nonce_taken: {},
  not_simulated_yet: { isOwn: true },
  not_worth_its_gas: {},
  recoveries_of_today_spent: {},
  recovery_keeps_failing: {},
  recovery_left_to_its_owner: {},
  replaced_by_nothing: {},
  reverted_on_chain: {},
  signer_unavailable: { isOwn: true },
  simulation_unavailable: { isOwn: true },
  tip_does_not_cover_gas: {},
  underfunded: { untilExpiry: true },
} as const satisfies Record<string, Traits>;

export type Reason = keyof typeof reasons;

/** Every reason, in alphabetical order. */
export const allReasons = Object.keys(reasons) as Reason[];

export const reasonsWith = (trait: keyof Traits): Reason[] =>
  allReasons.filter((reason) => trait in reasons[reason]);

/** A reason that contains a measured number or a limit. */
export type MeasuredReason =
  | `takes ${number} gas, but the limit is ${number}`
  | `not simulated within ${number} ms`;

declare const quoted: unique symbol;
/** Text from a contract or a node, which never equals a {@link Reason}. */
export type QuotedText = string & { readonly [quoted]: true };

/** Any reason that the column `executor_jobs.reason` can contain. */
export type JobReason = Reason | MeasuredReason | QuotedText;

/**
 * Converts text from a contract or a node to a reason. A contract can revert with any text. If the
 * text equals one of the executor's own reasons, returns `Error(text)` to avoid confusion.
 */
export function quoteText(text: string): QuotedText {
  return (Object.hasOwn(reasons, text) ? `Error(${text})` : text) as QuotedText;
}

const failureLabels = [
  ...paymentFactoryAbi.flatMap((each) => (each.type === "error" ? [each.name] : [])),
  "reverted_on_chain" satisfies Reason,
  "takes",
];

/**
 * Returns the metrics label for a failed attempt. The label is a known prefix of the reason, or
 * `other`. The rest of the reason is not used, because anyone can choose it.
 */
export const failureLabel = (reason: string): string =>
  failureLabels.find((label) => reason.startsWith(label)) ?? "other";
