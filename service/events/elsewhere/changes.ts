// Decides which payments and returns on other chains are reported. All functions are pure. A return
// is an amount that the executor sent back from an address.
//
// Anyone can send dust to an address on every chain. So each address has one limit for payments and
// one for returns, each for all other chains together. A payment or return beyond its limit is
// still reported if its amount is among the greatest of the same token and chain
// (`isAmongGreatest`).

import type { Hex } from "executable-address";
import { isSame, type TokenAmount } from "executable-address/status";
import type { PaymentNews } from "executable-address/webhook";
import { keyOf } from "../paid.ts";
import { countBits, isAmongGreatest, type PaymentElsewhere } from "../payments.ts";
import type { MovedElsewhere } from "./amounts.ts";

/** The short keys of the reported payments and returns on another chain. */
type Reported = { paid: string[]; returned: string[] };

/** The reported payments and returns, by chain ID. */
export type ReportedElsewhere = Record<string, Reported>;

/**
 * The payments that a quorum of endpoints returned, and the returns by the executor, on chains
 * other than the intent's chain. Payments and returns on the same chain are sorted by block.
 */
export type MovesElsewhere = {
  payments: readonly PaymentElsewhere[];
  returns: readonly MovedElsewhere[];
};

/**
 * An event about a chain other than the intent's chain. `amounts` are the amounts that one
 * transaction returned.
 */
export type ChangeElsewhere = { chainId: number } & (
  | { type: "address.payment"; payment: PaymentNews }
  | { type: "address.recovered"; transactionHash: Hex; amounts: TokenAmount[] }
  | { type: "address.reverted" }
);

/**
 * The maximum number of reported payments of an address on all other chains together. The same
 * limit applies to its reported returns. The largest amounts are reported beyond these limits.
 */
export const elsewhereMax = 32;

/**
 * Returns the new events about one of the other chains, and adds the payments and returns of these
 * events to `before`. If a reorganization undid a reported payment or return, the first event is
 * `address.reverted`, and the chain's remaining payments and returns are reported again.
 *
 * @param before the payments and returns that were already reported, on all other chains
 * @param upTo the newest block of chain `chainId` that has enough confirmations
 */
export function compareElsewhere(
  before: ReportedElsewhere,
  { chainId, upTo }: { chainId: number; upTo: number },
  moves: MovesElsewhere,
): { changes: ChangeElsewhere[]; known: ReportedElsewhere } {
  const payments = moves.payments.filter((each) => each.chainId === chainId);
  const returns = moves.returns.filter((each) => each.chainId === chainId);
  const { paid, returned } = before[chainId] ?? { paid: [], returned: [] };
  const standing = new Set([...payments.map(keyOf), ...returns.map(returnKeyOf)]);
  if ([...paid, ...returned].some((key) => !standing.has(key))) {
    const { [chainId]: _, ...others } = before;
    const again = compareElsewhere(others, { chainId, upTo }, moves);
    return { ...again, changes: [{ type: "address.reverted", chainId }, ...again.changes] };
  }
  const isDeep = ({ blockNumber }: { blockNumber: number }) => blockNumber <= upTo;
  const paidNow = admit(countOf(before, "paid"), paid, payments, keyOf, isDeep);
  const admitted = admit(countOf(before, "returned"), returned, returns, returnKeyOf, isDeep);
  const hashes = [...new Set(admitted.map(({ transactionHash }) => transactionHash))];
  // One event reports all amounts that a transaction returned.
  const returnedNow = returns.filter(({ transactionHash }) => hashes.includes(transactionHash));
  return {
    changes: [
      ...paidNow.map(
        ({ isSmall: _, isLookalike: __, claim: ___, chainId: ____, ...place }, index) => {
          const isLast = countOf(before, "paid") + index + 1 === elsewhereMax;
          const payment = { ...place, kind: "other_chain" as const, isLate: false, isLast };
          return { type: "address.payment" as const, chainId, payment };
        },
      ),
      ...hashes.map((transactionHash) => ({
        ...{ type: "address.recovered" as const, chainId, transactionHash },
        amounts: returnedNow
          .filter((each) => each.transactionHash === transactionHash)
          .map(({ token, amount }) => ({ token, amount })),
      })),
    ],
    known: {
      ...before,
      [chainId]: {
        paid: [...paid, ...paidNow.map(keyOf)],
        returned: [...returned, ...returnedNow.map(returnKeyOf)],
      },
    },
  };
}

/**
 * Returns the key of a returned amount: 48 bits of the transaction hash and 48 bits of the token's
 * address.
 */
const returnKeyOf = ({ transactionHash, token }: MovedElsewhere) =>
  `${transactionHash.slice(2, 14)}.${token.slice(2, 14).toLowerCase()}`;

/** Returns the number of reported payments or returns on all other chains together. */
const countOf = (known: ReportedElsewhere, of: keyof Reported): number =>
  Object.values(known).reduce((sum, each) => sum + each[of].length, 0);

/**
 * Returns the items to report now: items that have enough confirmations, are within the limits, and
 * are not reported yet.
 */
function admit<Item extends { token: Hex; amount: string }>(
  count: number,
  reported: readonly string[],
  items: readonly Item[],
  keyOf: (item: Item) => string,
  isDeep: (item: Item) => boolean,
): Item[] {
  const before = new Set(reported);
  const admitted = items.filter((item) => before.has(keyOf(item)));
  const first = admitted.length;
  for (const item of items) {
    if (before.has(keyOf(item)) || !isDeep(item)) continue;
    const isWithin = count + admitted.length - first < elsewhereMax;
    const others = admitted.filter(({ token }) => isSame(token, item.token));
    const sizes = others.map(({ amount }) => countBits(amount));
    if (isWithin || isAmongGreatest(countBits(item.amount), sizes)) admitted.push(item);
  }
  return admitted.slice(first);
}
