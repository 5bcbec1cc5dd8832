// Derives where money goes that an address cannot use: one row for each mistake of a payer. The
// rows follow from the record and the factory's rules. Only the service knows whether it has an
// executor. service/executor/test/returns.test.ts makes each mistake on a real chain and compares
// the result with the row. docs/returns.md shows the same rows.

import { isSame } from "../abi/hex.ts";
import type { AddressRecord, Intent } from "../intent/intent.ts";
import {
  address,
  chainId,
  count,
  fits,
  list,
  matching,
  object,
  orNull,
  type TypeOf,
  uint256,
} from "../shape.ts";

/** Every mistake, in the order in which it is shown. The list may grow. */
export const mistakes = [
  "late",
  "too_much",
  "too_little",
  "twice",
  "other_token",
  "native_coin",
  "other_chain",
  "from_exchange",
  "from_contract",
  "executed_address",
  "blocked_recipient",
  "blocked_recovery",
  "paused_token",
] as const;
export type Mistake = (typeof mistakes)[number];

/** How much comes back: all of the payment, or only the part that the calls do not use. */
export const returnedParts = ["all", "excess"] as const;

/** The moment from which a return is possible. */
export const returnTimes = [
  "immediately",
  "after_execution",
  "after_expiry",
  "after_execution_or_expiry",
  "after_unblocking",
  "after_unpausing",
] as const;

/** Who can trigger a return. */
export const returnTriggers = [
  "executor",
  "executor_if_listed",
  "executor_on_request",
  "anyone",
  "recovery",
] as const;

const codePattern = /^[a-z0-9_]{1,64}$/;

/** The return of a payment after one mistake. */
export const moneyReturn = object({
  /**
   * The mistake. spec/service.md, "Returns", describes each.
   *
   * @values mistakes
   */
  mistake: matching<Mistake>(codePattern),
  /**
   * `all` of the payment, or the `excess`: what the calls do not use, at least everything above
   * `spent`.
   *
   * @values returnedParts
   */
  returned: matching<(typeof returnedParts)[number]>(codePattern),
  /** Who receives it: the intent's `recovery`, regardless of the sender of the payment. */
  to: address,
  /** The chain on which it comes back. Null: the chain on which it arrived. */
  chainId: orNull(chainId),
  /**
   * The moment from which the return is possible. `after_unblocking` and `after_unpausing` depend
   * on the token's issuer.
   *
   * @values returnTimes
   */
  when: matching<(typeof returnTimes)[number]>(codePattern),
  /** The return is never earlier: Unix seconds of the chain's clock. Null: no time is known. */
  notBefore: orNull(count),
  /**
   * Who can trigger it: the service's `executor` automatically, `executor_if_listed` if the service
   * lists the token and the chain, `executor_on_request` after the address's status was requested
   * or the payment was reported (`/sent`);
   * `anyone` by `recover`; and only the `recovery` address by `rescue`.
   */
  by: list(matching<(typeof returnTriggers)[number]>(codePattern)),
});
export type MoneyReturn = TypeOf<typeof moneyReturn>;

/** The rules by which the service's executor returns money on the chain of the intent. */
export const returnPolicy = object({
  /** It returns an excess this many blocks after the execution, or earlier if that is final. */
  confirmations: count,
  /** It acts on a payment this many blocks after the payment. */
  paymentConfirmations: count,
  /**
   * It leaves smaller amounts of the intent's token, in base units, and amounts that are worth less
   * than their gas. Anyone can still return them.
   */
  amountMin: uint256,
});
export type ReturnPolicy = TypeOf<typeof returnPolicy>;

/** Where money goes that the address cannot use. */
export const paymentReturns = object({
  address,
  chainId,
  token: address,
  /** The calls need at least this amount, in base units of `token`. */
  amount: uint256,
  /**
   * The most that the calls can use, in base units of `token`: the sum of their transfers and
   * approvals. Null if they have no limit.
   */
  spent: orNull(uint256),
  /** Unix seconds of the chain's clock, inclusive: the last second of an execution. */
  expirationTimestamp: count,
  /** Null: the service has no executor for the chain, or it is paused. */
  executor: orNull(returnPolicy),
  /** One row for each mistake. */
  returns: list(moneyReturn),
});
export type PaymentReturns = TypeOf<typeof paymentReturns>;

/** Returns the executor's rules from a service's response; null if it has none or is invalid. */
export const policyIn = (answer: unknown): ReturnPolicy | null =>
  fits(paymentReturns, answer) ? answer.executor : null;

/** The part of a row that does not depend on the record. */
type Rule = Pick<MoneyReturn, "returned" | "when" | "by"> & {
  readonly isAfterExpiry?: true;
  readonly isElsewhere?: true;
};

const automatic: MoneyReturn["by"] = ["executor", "anyone"];

const rules: Readonly<Record<Mistake, Rule>> = {
  late: { returned: "all", when: "immediately", isAfterExpiry: true, by: automatic },
  too_much: { returned: "excess", when: "after_execution", by: automatic },
  too_little: { returned: "all", when: "after_expiry", isAfterExpiry: true, by: automatic },
  twice: { returned: "excess", when: "after_execution", by: automatic },
  other_token: {
    returned: "all",
    when: "after_execution_or_expiry",
    by: ["executor_if_listed", "executor_on_request", "anyone"],
  },
  native_coin: {
    returned: "all",
    when: "after_execution_or_expiry",
    by: ["executor_on_request", "anyone"],
  },
  other_chain: {
    returned: "all",
    when: "immediately",
    isElsewhere: true,
    by: ["executor_if_listed", "anyone"],
  },
  from_exchange: { returned: "excess", when: "after_execution", by: automatic },
  from_contract: { returned: "excess", when: "after_execution", by: automatic },
  executed_address: { returned: "all", when: "immediately", by: automatic },
  blocked_recipient: { returned: "all", when: "after_expiry", isAfterExpiry: true, by: automatic },
  blocked_recovery: {
    returned: "all",
    when: "after_unblocking",
    by: [...automatic, "recovery"],
  },
  paused_token: { returned: "all", when: "after_unpausing", isAfterExpiry: true, by: automatic },
};

/**
 * Derives the return of a payment after each mistake. Sends no request.
 *
 * @param record verified
 * @param executor the rules of the service's executor on the chain; null if there is none
 */
export function deriveReturns(
  { address, intent }: Pick<AddressRecord, "address" | "intent">,
  executor: ReturnPolicy | null = null,
): PaymentReturns {
  const { chainId, token, amount, expirationTimestamp, recovery } = intent;
  return {
    ...{ address, chainId, token, amount, expirationTimestamp, executor },
    spent: spentBy(intent),
    returns: mistakes.map((mistake) => {
      const { returned, when, by, isAfterExpiry, isElsewhere } = rules[mistake];
      return {
        mistake,
        returned,
        to: recovery,
        chainId: isElsewhere ? null : chainId,
        when,
        notBefore: isAfterExpiry ? expirationTimestamp + 1 : null,
        by: by.filter((each) => executor || !each.startsWith("executor")),
      };
    }),
  };
}

/** Names of parameters do not change which function is called. */
const grantPattern = /^(transfer|approve)\(address [\w$]+, uint256 [\w$]+\)$/;

/** A larger sum counts as no limit. */
const sumMax = 2n ** 128n;

/**
 * Returns the most that the calls can use of the intent's token, in base units. It is the sum of
 * their transfers and approvals, because other contracts can take only approved amounts. Null if
 * there is no limit, or if the calls use another function of the token.
 */
function spentBy({ token, calls }: Pick<Intent, "token" | "calls">): string | null {
  const own = calls.filter(({ target }) => isSame(target, token));
  if (!own.every((call) => grantPattern.test(call.function))) return null;
  const sum = own.reduce((total, { args }) => total + BigInt(args[1]!), 0n);
  return sum < sumMax ? `${sum}` : null;
}
