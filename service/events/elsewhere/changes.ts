// Decides which money on other chains is reported in events: payments, and amounts that the
// executor sent back (returns). No function in this file has side effects.
//
// Anyone can send dust (tiny amounts) to an address on every chain. So each address has a limit on
// reported payments and a limit on reported returns. Each limit covers all other chains together.
// Beyond the limit, an item is reported only if its amount is among the largest
// (`isAmongGreatest`).

import type { Hex } from "executable-address";
import { isSame, type TokenAmount } from "executable-address/status";
import type { PaymentNews } from "executable-address/webhook";
import { keyOf } from "../paid.ts";
import { countBits, isAmongGreatest, type PaymentElsewhere } from "../payments.ts";
import type { MovedElsewhere } from "./amounts.ts";

/** The keys of the payments and returns on one chain that earlier events reported. */
type Reported = { paid: string[]; returned: string[] };

/** By chain ID. */
export type ReportedElsewhere = Record<string, Reported>;

/**
 * The payments and returns of an address on chains other than its intent's chain. A quorum of
 * endpoints has confirmed each payment. Each return was sent by the executor. The payments and the
 * returns of each chain are sorted by block.
 */
export type MovesElsewhere = {
  payments: readonly PaymentElsewhere[];
  returns: readonly MovedElsewhere[];
};

/**
 * An event about a chain other than the intent's chain. `amounts` lists the amounts that one
 * transaction sent back.
 */
export type ChangeElsewhere = { kind: "elsewhere"; chainId: number } & (
  | { type: "address.payment"; payment: PaymentNews }
  | { type: "address.recovered"; transactionHash: Hex; amounts: TokenAmount[] }
  | { type: "address.reverted" }
);

/**
 * The maximum number of payments that are reported for an address, on all other chains together.
 * The same limit applies to returns. After a limit is reached, only the largest amounts are still
 * reported.
 */
export const elsewhereMax = 32;

/**
 * Returns the new events about chain `chainId`. Also returns `known`: all payments and returns that
 * earlier events or the new events report. If a reorganization reverted a reported payment or
 * return, the first event is `address.reverted`. The other payments and returns on this chain are
 * then reported again.
 *
 * @param reported the payments and returns that earlier events reported, by chain
 * @param upTo the newest block of chain `chainId` that has enough confirmations
 */
export function compareElsewhere(
  reported: ReportedElsewhere,
  { chainId, upTo }: { chainId: number; upTo: number },
  moves: MovesElsewhere,
): { changes: ChangeElsewhere[]; known: ReportedElsewhere } {
  const about = { kind: "elsewhere" as const, chainId };
  const payments = moves.payments.filter((each) => each.chainId === chainId);
  const returns = moves.returns.filter((each) => each.chainId === chainId);
  const { paid, returned } = reported[chainId] ?? { paid: [], returned: [] };
  const present = new Set([...payments.map(keyOf), ...returns.map(returnKeyOf)]);
  if ([...paid, ...returned].some((key) => !present.has(key))) {
    const { [chainId]: _, ...others } = reported;
    const again = compareElsewhere(others, { chainId, upTo }, moves);
    return { ...again, changes: [{ ...about, type: "address.reverted" }, ...again.changes] };
  }
  const isDeep = ({ blockNumber }: { blockNumber: number }) => blockNumber <= upTo;
  const paidNow = admit(countOf(reported, "paid"), paid, payments, keyOf, isDeep);
  const admitted = admit(countOf(reported, "returned"), returned, returns, returnKeyOf, isDeep);
  const hashes = [...new Set(admitted.map(({ transactionHash }) => transactionHash))];
  // All amounts that a transaction sent back are in the same event.
  const returnedNow = returns.filter(({ transactionHash }) => hashes.includes(transactionHash));
  return {
    changes: [
      ...paidNow.map(
        ({ isSmall: _, isLookalike: __, claim: ___, chainId: ____, ...place }, index) => {
          const isLast = countOf(reported, "paid") + index + 1 === elsewhereMax;
          const payment = { ...place, kind: "other_chain" as const, isLate: false, isLast };
          return { ...about, type: "address.payment" as const, payment };
        },
      ),
      ...hashes.map((transactionHash) => ({
        ...{ ...about, type: "address.recovered" as const, transactionHash },
        amounts: returnedNow
          .filter((each) => each.transactionHash === transactionHash)
          .map(({ token, amount }) => ({ token, amount })),
      })),
    ],
    known: {
      ...reported,
      [chainId]: {
        paid: [...paid, ...paidNow.map(keyOf)],
        returned: [...returned, ...returnedNow.map(returnKeyOf)],
      },
    },
  };
}

/**
 * Returns the key of a returned amount: 48 bits of the transaction hash and 48 bits of the token.
 */
const returnKeyOf = ({ transactionHash, token }: MovedElsewhere) =>
  `${transactionHash.slice(2, 14)}.${token.slice(2, 14).toLowerCase()}`;

const countOf = (known: ReportedElsewhere, kind: keyof Reported): number =>
  Object.values(known).reduce((sum, each) => sum + each[kind].length, 0);

/**
 * Returns the items to report now, which are new and have enough confirmations. Beyond the limit,
 * an item's amount must also be among the largest in its token.
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
