// Finds money that was sent to an address on a chain other than its intent's chain. The executor of
// each chain finds transfers in logs, reads balances, and sends the money back. A status request
// reads the results from the database and calls no node.
//
// Anyone can send dust (tiny amounts) to an address. So `elsewhere` depends on amounts, and not on
// the number of transfers or on the newest transfer.

import { formatAddress, fromHex, type Hex, type Keccak, toHex } from "executable-address";
import type { Elsewhere } from "executable-address/status";
import type { Kysely, Transaction } from "kysely";
import { groupsOf } from "../../flow/groups.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { togetherBy } from "../../flow/together.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";
import { sumOf } from "../money.ts";
import { selectElsewhere } from "../payments.ts";

export type AddressOf = { address: Hex; chainId: number };

/**
 * An amount at an address on a chain other than the intent's chain. `token` is in EIP-55 case, and
 * `amount` is in base units.
 */
type AmountElsewhere = { chainId: number; token: Hex; amount: string; blockNumber: number };

/** A transfer to an address, or a recovery from it, on another chain than the intent's. */
export type MovedElsewhere = AmountElsewhere & { transactionHash: Hex };

/** An address's transfers and last known balances on chains other than its intent's chain. */
export type FoundElsewhere = {
  paid: readonly MovedElsewhere[];
  balances: readonly AmountElsewhere[];
};

/** The balances of an address on one chain, by lowercase token address. */
export type BalancesRead = { address: Hex; balances: ReadonlyMap<Hex, bigint> };

/**
 * Saves balances of addresses whose intents are for other chains than `chainId`. The balances were
 * read at block `blockNumber`. A stored balance from a newer block is not replaced. A balance of
 * zero is saved only if the address has a stored balance or payment in this token.
 */
export async function keepBalances(
  transaction: Transaction<Tables>,
  chainId: number,
  blockNumber: number,
  read: readonly BalancesRead[],
): Promise<void> {
  for (const some of groupsOf(read, statementRows.costly)) {
    const addresses = some.map(({ address }) => fromHex(address));
    const known = await Promise.all(
      (["payments", "balances"] as const).map((table) =>
        transaction
          .selectFrom(table)
          .select(["address", "token"])
          .distinct()
          .where("address", "in", addresses)
          .where("chain_id", "=", chainId)
          .execute(),
      ),
    );
    const came = new Set(
      known.flat().map(({ address, token }) => `${toHex(address)} ${toHex(token)}`),
    );
    const rows = some.flatMap(({ address, balances }) =>
      [...balances]
        .filter(([token, amount]) => amount > 0n || came.has(`${address} ${token}`))
        .map(([token, amount]) => ({
          ...{ address: fromHex(address), chain_id: chainId, token: fromHex(token) },
          ...{ amount: `${amount}`, block_number: blockNumber },
        })),
    );
    for (const group of groupsOf(rows, statementRows.short)) {
      await transaction
        .insertInto("balances")
        .values(group)
        .onConflict((conflict) =>
          conflict
            .columns(["address", "chain_id", "token"])
            .doUpdateSet((row) => ({
              amount: row.ref("excluded.amount"),
              block_number: row.ref("excluded.block_number"),
            }))
            .whereRef("balances.block_number", "<=", "excluded.block_number"),
        )
        .execute();
    }
  }
}

/**
 * After a reorganization, deletes the balances that were read after block `number`.
 * @returns the addresses whose balances were deleted
 */
export async function forgetBalancesAbove(
  db: Kysely<Tables>,
  chainId: number,
  number: number,
): Promise<Hex[]> {
  const rows = await db
    .deleteFrom("balances")
    .where("chain_id", "=", chainId)
    .where("block_number", ">", number)
    .returning("address")
    .execute();
  return [...new Set(rows.map(({ address }) => toHex(address)))];
}

/**
 * Returns a function that finds an address's transfers and balances on all chains except its
 * intent's chain. For each chain, the oldest transfer comes first. Simultaneous calls share two
 * queries.
 */
export function elsewhereFinder(
  db: Kysely<Tables>,
  keccak: Keccak,
): (request: AddressOf) => Promise<FoundElsewhere> {
  const shown = (row: { chain_id: number; token: Uint8Array; amount: string }) => ({
    chainId: Number(row.chain_id),
    token: formatAddress(row.token, keccak),
    amount: row.amount,
  });
  return togetherBy<AddressOf, FoundElsewhere>(
    ({ chainId }) => `${chainId}`,
    async (requests) => {
      const keys = [...new Set(requests.map(({ address }) => lowerAddress(address)))].map((key) =>
        Buffer.from(fromHex(key)),
      );
      const [transfers, balances] = await Promise.all([
        selectElsewhere(db, requests[0]!.chainId, keys),
        db
          .selectFrom("balances")
          .selectAll()
          .where("address", "in", keys)
          .where("chain_id", "<>", requests[0]!.chainId)
          .orderBy("address")
          .orderBy("chain_id")
          .execute(),
      ]);
      const paidTo = Map.groupBy(transfers, (row) => toHex(row.address));
      const balancesByAddress = Map.groupBy(balances, (row) => toHex(row.address));
      return requests.map(({ address }) => {
        const key = lowerAddress(address);
        return {
          paid: (paidTo.get(key) ?? []).map((row) => ({
            ...shown(row),
            blockNumber: Number(row.block_number),
            transactionHash: toHex(row.transaction_hash),
          })),
          balances: (balancesByAddress.get(key) ?? []).map((row) => ({
            ...shown(row),
            blockNumber: Number(row.block_number),
          })),
        };
      });
    },
    statementRows.costly,
  );
}

/**
 * Returns three kinds of amounts:
 * - amounts that are still at the address
 * - amounts that this service's executor sent back
 * - amounts that somebody else sent back: they are no longer at the address, but the executor did
 *   not send them
 *
 * @param returned the executor's recoveries, sorted by block number
 */
export function elsewhereOf(
  { paid, balances }: FoundElsewhere,
  returned: readonly MovedElsewhere[],
): Elsewhere[] {
  const keyOf = ({ chainId, token }: AmountElsewhere) => `${chainId} ${token.toLowerCase()}`;
  const [came, back] = [Map.groupBy(paid, keyOf), Map.groupBy(returned, keyOf)];
  const lastRead = new Map(balances.map((each) => [keyOf(each), each]));
  const all = new Map([...returned, ...paid, ...balances].map((each) => [keyOf(each), each]));
  const found = [...all].flatMap(([key, { chainId, token }]): Elsewhere[] => {
    const [transfers, recoveries] = [came.get(key) ?? [], back.get(key) ?? []];
    const remaining = remainingOf(lastRead.get(key), transfers, recoveries);
    const byOthers = sumOf(transfers) - sumOf(recoveries) - remaining;
    const at = { chainId, token };
    return [
      ...recoveries.map(
        ({ amount, transactionHash }): Elsewhere => ({
          ...{ ...at, amount, state: "returned", transactionHash },
        }),
      ),
      ...(byOthers > 0n
        ? [{ ...at, amount: `${byOthers}`, state: "returned" as const, transactionHash: null }]
        : []),
      ...(remaining > 0n
        ? [
            {
              ...{ ...at, amount: `${remaining}`, state: "held" as const },
              transactionHash: greatestOf(
                transfers.filter(
                  ({ amount, blockNumber }) =>
                    BigInt(amount) <= remaining &&
                    blockNumber > (recoveries.at(-1)?.blockNumber ?? -1),
                ),
              ),
            },
          ]
        : []),
    ];
  });
  return found.toSorted((a, b) => a.chainId - b.chainId);
}

/**
 * Returns the amount that is now at the address. Starts with the last balance that the executor
 * read, adds later transfers, and subtracts later recoveries. Without such a balance, the amount is
 * the sum of all transfers minus all recoveries.
 */
function remainingOf(
  read: AmountElsewhere | undefined,
  transfers: readonly MovedElsewhere[],
  recoveries: readonly MovedElsewhere[],
): bigint {
  const since = (each: MovedElsewhere) => each.blockNumber > (read?.blockNumber ?? -1);
  const moved = sumOf(transfers.filter(since)) - sumOf(recoveries.filter(since));
  const remaining = BigInt(read?.amount ?? 0) + moved;
  return remaining > 0n ? remaining : 0n;
}

/**
 * Returns the transaction hash of the largest transfer, so that dust does not change the result. If
 * several transfers are equally large, returns the hash of the newest one.
 */
function greatestOf(transfers: readonly MovedElsewhere[]): Hex | null {
  const greatest = transfers.reduce<MovedElsewhere | undefined>(
    (most, each) => (most && BigInt(most.amount) > BigInt(each.amount) ? most : each),
    undefined,
  );
  return greatest?.transactionHash ?? null;
}
