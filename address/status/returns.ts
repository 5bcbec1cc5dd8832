// Derives what happens to money that an address cannot use. There is one row for each mistake that
// a payer can make. A row depends on the record, the factory's rules, and the rules of the
// service's executor. Only the service knows whether it has an executor. The test
// service/executor/test/returns.test.ts reproduces each mistake on a real chain, and compares the
// result with the mistake's row. The page docs/returns.md shows the same rows.

import { isSame } from "../abi/hex.ts";
import type { AddressRecord, Intent } from "../intent/intent.ts";
import {
  address,
  chainId,
  codePattern,
  count,
  fits,
  list,
  matching,
  object,
  orNull,
  type TypeOf,
  uint256,
} from "../shape.ts";

/** All kinds of mistakes, in display order. The list may grow. */
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

/** The returned part: the whole payment, or only the part that the calls do not use. */
export const returnedParts = ["all", "excess"] as const;

/** The times at which a return can become possible. */
export const returnTimes = [
  "immediately",
  "after_execution",
  "after_expiry",
  "after_execution_or_expiry",
  "after_unblocking",
  "after_unpausing",
] as const;

/** The parties that can trigger a return. */
export const returnTriggers = [
  "executor",
  "executor_if_listed",
  "executor_on_request",
  "anyone",
  "recovery",
] as const;

/** How a payment is returned after a mistake, for example if the payment is late. */
export const moneyReturn = object({
  /**
   * The payer's mistake. spec/service.md, "Returns", describes each code.
   *
   * @values mistakes
   */
  mistake: matching<Mistake>(codePattern),
  /**
   * The part that is returned:
   *
   * - `all`: the whole payment.
   * - `excess`: the part that the calls do not use.
   *
   * The calls use at most `spent`, so everything above `spent` is returned.
   *
   * @values returnedParts
   */
  returned: matching<(typeof returnedParts)[number]>(codePattern),
  /** The receiver of the return: the intent's `recovery`, regardless of who sent the payment. */
  to: address,
  /**
   * The chain on which the money is returned. Null for the mistake `other_chain`: this money is
   * returned on the chain on which it arrived.
   */
  chainId: orNull(chainId),
  /**
   * Says when the return becomes possible. `after_unblocking` and `after_unpausing` depend on the
   * token's issuer.
   *
   * @values returnTimes
   */
  when: matching<(typeof returnTimes)[number]>(codePattern),
  /**
   * The earliest time of the return, in Unix seconds by the chain's clock. Null if it is unknown.
   */
  notBefore: orNull(count),
  /**
   * The party that can trigger the return:
   *
   * - `executor`: the service's executor returns the money automatically.
   * - `executor_if_listed`: the executor returns the money if the service lists the token and the
   *   chain.
   * - `executor_on_request`: the executor returns the money, possibly only after a status request
   *   or a report (`/sent`).
   * - `anyone`: anyone can call `recover`.
   * - `recovery`: only the `recovery` address can return the money, by calling `rescue`.
   */
  by: list(matching<(typeof returnTriggers)[number]>(codePattern)),
});
export type MoneyReturn = TypeOf<typeof moneyReturn>;

/** The rules by which the service's executor returns money on the chain of the intent. */
export const returnPolicy = object({
  /**
   * Before the executor returns an excess, it waits until this number of blocks has followed the
   * execution, or until the execution is final.
   */
  confirmations: count,
  /** The executor acts on a payment when this many blocks have followed the payment. */
  paymentConfirmations: count,
  /**
   * The smallest amount of the intent's token that the executor returns, in base units. The
   * executor also does not return amounts that are worth less than the transaction's cost. Anyone
   * can still return such amounts.
   */
  amountMin: uint256,
});
export type ReturnPolicy = TypeOf<typeof returnPolicy>;

/** The rules for money that the address cannot use: who can return it, to whom, and when. */
export const paymentReturns = object({
  address,
  chainId,
  token: address,
  /** The requested amount in base units of `token`. The calls need at least this amount. */
  amount: uint256,
  /**
   * The largest amount that the calls can use, in base units of `token`. This amount is the sum of
   * their transfers and approvals. Null if there is no limit.
   */
  spent: orNull(uint256),
  /** The last Unix second, by the chain's clock, in which the calls can be executed. */
  expirationTimestamp: count,
  /**
   * The executor's rules. Null if the service has no executor for the chain, or if the executor is
   * paused.
   */
  executor: orNull(returnPolicy),
  /** One row for each mistake. */
  returns: list(moneyReturn),
});
export type PaymentReturns = TypeOf<typeof paymentReturns>;

/**
 * Returns the executor's rules from a service's response. Returns null if the response is invalid
 * or contains no rules.
 */
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
 * Derives how a payment is returned after each of the {@link mistakes}. Sends no request.
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

/** Matches any parameter names, because they do not affect which function is called. */
const grantPattern = /^(transfer|approve)\(address [\w$]+, uint256 [\w$]+\)$/;

/** A sum of this amount or more means no limit. */
const sumMax = 2n ** 128n;

/**
 * Returns the largest amount of the intent's token that the calls can use, in base units. This
 * amount is the sum of all transfers and approvals in the calls. A target that is not the token can
 * take only an approved amount. Returns null if there is no limit, or if a call uses a function of
 * the token other than `transfer` and `approve`.
 */
function spentBy({ token, calls }: Pick<Intent, "token" | "calls">): string | null {
  const own = calls.filter(({ target }) => isSame(target, token));
  if (!own.every((call) => grantPattern.test(call.function))) return null;
  const sum = own.reduce((total, { args }) => total + BigInt(args[1]!), 0n);
  return sum < sumMax ? `${sum}` : null;
}
