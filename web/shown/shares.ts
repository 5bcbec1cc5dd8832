// Computes how much each payer sent to an address, and how much each recipient received. Pages and
// receipts show these amounts in charts.

import type { Hex, Intent } from "executable-address";
import type { ProvedExecution, ProvedReceipt } from "executable-address/proof";
import { isSame } from "executable-address-element/page";

export type Share = {
  /** An account, or a group of unknown accounts. */
  readonly who: Hex | "payers" | "otherPayers" | "stillToPay" | "byCalls";
  readonly token: Hex;
  /** In base units of `token`. */
  readonly units: bigint;
  readonly isReturn?: boolean;
  /** True if the money has not moved yet. */
  readonly isAwaited?: boolean;
};

/**
 * The balances before and after the calls, and the transfers during the calls. Transfers without
 * logs, such as transfers of native coin, may be missing in `moved`.
 */
type Taken = Pick<ProvedExecution, "held" | "left" | "moved">;

/**
 * @param returned the amount of the intent's token that was sent to `recovery`. For a saved
 *   receipt, also includes the remaining money that can only go to `recovery`. The proof does not
 *   show whether this money was sent
 * @param awaited the amount that can only go to `recovery`, but has not been sent yet
 */
export function sharesOut(
  intent: Intent,
  execution: Taken | null,
  returned: bigint,
  awaited = 0n,
): Share[] {
  const { token, recovery } = intent;
  const isOwn = (share: Share) => isSame(share.token, token);
  const moved = merged(
    (execution?.moved ?? []).map(({ token, to, amount }) => ({
      who: to,
      token,
      units: BigInt(amount),
    })),
  );
  const taken = execution ? BigInt(execution.held) - BigInt(execution.left) : 0n;
  const rest = taken - sumShares(moved.filter(isOwn));
  // If the transfers exceed `taken`, the transaction also returned the excess to `recovery`. This
  // code subtracts the excess, because `returned` already contains it.
  const given = moved.map((share) =>
    rest < 0n && isOwn(share) && isSame(share.who, recovery)
      ? { ...share, units: share.units + rest }
      : share,
  );
  const others: Share[] = [
    { who: "byCalls", token, units: rest },
    { who: recovery, token, units: returned, isReturn: true },
    { who: recovery, token, units: awaited, isReturn: true, isAwaited: true },
  ];
  return [...given, ...others].filter(({ units }) => units > 0n);
}

/** The maximum number of listed payers. One transaction can contain hundreds of payers. */
const payersMax = 6;

/** @param total the total amount received. The part without a listed payer becomes one share */
export function sharesIn(
  { token }: Intent,
  payments: ProvedReceipt["payments"],
  total: bigint,
): Share[] {
  const known = merged(
    payments
      .flatMap((each) => each.payments)
      .map(({ from, amount }) => ({ who: from, token, units: BigInt(amount) })),
  );
  const greatest = known.toSorted((a, b) => (a.units < b.units ? 1 : -1)).slice(0, payersMax);
  const named = known.filter((share) => greatest.includes(share));
  const came = sumShares(known);
  const rest = (came > total ? came : total) - sumShares(named);
  const who = named.length > 0 ? "otherPayers" : "payers";
  return rest > 0n ? [...named, { who, token, units: rest }] : named;
}

export const sumShares = (shares: readonly Share[]): bigint =>
  shares.reduce((sum, { units }) => sum + units, 0n);

/** Returns one share per account and token, in the order of first appearance. */
function merged(shares: readonly Share[]): Share[] {
  const found = new Map<string, Share>();
  for (const share of shares) {
    const key = `${share.who} ${share.token}`.toLowerCase();
    found.set(key, { ...share, units: share.units + (found.get(key)?.units ?? 0n) });
  }
  return [...found.values()];
}
