// Decides which payments and returns on other chains are reported. All functions are pure.
//
// Anybody can send dust to an address on every chain. So for each address, the number of events
// about all other chains together is limited. A payment or return beyond this limit still has an
// event if fewer than two reported amounts of its token and chain have at least as many bits.

import type { Hex } from "executable-address";
import { isSame, type TokenAmount } from "executable-address/status";
import type { PaymentNews } from "executable-address/webhook";
import { keyOf } from "../paid.ts";
import type { PaymentElsewhere } from "../payments.ts";
import type { MovedElsewhere } from "./amounts.ts";

/** The reported payments and returns on a different chain, by short keys. */
type Reported = { paid: string[]; returned: string[] };

/** The reported payments and returns by the ID of the other chain. */
export type ReportedElsewhere = Record<string, Reported>;

/**
 * The payments that a quorum of endpoints showed, and the returns by the executor, on other chains
 * than the intent's. Both are in the order of each chain.
 */
export type MovesElsewhere = {
  payments: readonly PaymentElsewhere[];
  returns: readonly MovedElsewhere[];
};

/** An event about a different chain. `amounts`: what one transaction returned. */
export type ChangeElsewhere = { chainId: number } & (
  | { type: "address.payment"; payment: PaymentNews }
  | { type: "address.recovered"; transactionHash: Hex; amounts: TokenAmount[] }
  | { type: "address.reverted" }
);

/** The maximum number of reported payments, and of returned amounts, except the largest ones. */
export const elsewhereMax = 32;
const ofSizeMax = 2;

/**
 * Returns the events about one of the other chains, and the reported payments and returns after
 * these events. If a reorganization undid a reported payment or return, `address.reverted` is the
 * first event, and the current payments and returns are reported again.
 *
 * @param before the reported payments and returns on all other chains
 * @param upTo the newest block of the other chain that has enough confirmations
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
  // One event reports everything that a transaction returned.
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

/** Returns the key of a returned amount: 48 bits of the transaction's hash, and of the token. */
const returnKeyOf = ({ transactionHash, token }: MovedElsewhere) =>
  `${transactionHash.slice(2, 14)}.${token.slice(2, 14).toLowerCase()}`;

/** Returns the number of reported payments or returned amounts on all other chains. */
const countOf = (known: ReportedElsewhere, of: keyof Reported): number =>
  Object.values(known).reduce((sum, each) => sum + each[of].length, 0);

/** Returns the deep items that were not reported before and are within the limits. */
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
    if (isWithin || isAmongGreatest(item, admitted)) admitted.push(item);
  }
  return admitted.slice(first);
}

function isAmongGreatest<Item extends { token: Hex; amount: string }>(
  { token, amount }: Item,
  others: readonly Item[],
): boolean {
  const bits = bitsOf(amount);
  const asGreat = others.filter((each) => isSame(each.token, token) && bitsOf(each.amount) >= bits);
  return asGreat.length < ofSizeMax;
}

const bitsOf = (amount: string): number => BigInt(amount).toString(2).length;
