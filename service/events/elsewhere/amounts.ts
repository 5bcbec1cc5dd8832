// Finds money at an address on chains other than the intent's chain. The loop of each chain finds
// the transfers, and the executor reads the balances and returns the money. For a status, the
// service reads these transfers and balances from the database, without a call to a node.
//
// Anyone can send dust to an address, so no part of a status depends only on the number of
// transfers or on the newest transfer. The current amount is the sum of the balance that the
// executor last read and the transfers since then.

import { formatAddress, fromHex, type Hex, type Keccak, toHex } from "executable-address";
import type { Elsewhere } from "executable-address/status";
import type { Kysely, Transaction } from "kysely";
import { groupsOf, statementRows } from "../../flow/groups.ts";
import { togetherBy } from "../../flow/together.ts";
import type { Tables } from "../../store/tables.ts";

/** An address on a chain. */
export type AddressOf = { address: Hex; chainId: number };

/**
 * An amount at an address on a chain other than the intent's chain. `token` is in EIP-55 case, and
 * `amount` is in base units.
 */
type AmountElsewhere = { chainId: number; token: Hex; amount: string; blockNumber: number };

/** A transfer to the address on such a chain, or a recovery from the address. */
export type MovedElsewhere = AmountElsewhere & { transactionHash: Hex };

/** The transfers to the address, and the last balances that were read, with their blocks. */
export type FoundElsewhere = {
  paid: readonly MovedElsewhere[];
  balances: readonly AmountElsewhere[];
};

/** Balances at a block, as the executor read them, by the token's lowercase address. */
export type BalancesRead = { address: Hex; balances: ReadonlyMap<Hex, bigint> };

/**
 * Saves balances at `blockNumber` on a chain that is not the intents' chain, unless newer balances
 * are saved. Saves no row for a token with a zero balance that the address never received.
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
 * Deletes balances that were read in replaced blocks above `number`.
 * @returns their addresses
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
 * Returns a function that finds the transfers to an address on other chains, and the balances on
 * these chains. The transfers of each chain are in order, oldest first. Calls in the same turn of
 * the event loop share two queries.
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
      const keys = [...new Set(requests.map(({ address }) => address.toLowerCase() as Hex))].map(
        (key) => Buffer.from(fromHex(key)),
      );
      const [transfers, balances] = await Promise.all([
        db
          .selectFrom("payments")
          .select(["address", "chain_id", "token", "amount", "transaction_hash", "block_number"])
          .where("address", "in", keys)
          .where("chain_id", "<>", requests[0]!.chainId)
          .where("is_agreed", "=", 1)
          .orderBy("address")
          .orderBy("chain_id")
          .orderBy("block_number")
          .orderBy("log_index")
          .execute(),
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
        const key = address.toLowerCase() as Hex;
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
 * Returns the amounts at the address, the recoveries by our executor, and the amounts that somebody
 * else returned. Somebody else returned an amount if it arrived at the address, is not part of the
 * current balance, and was not returned by our executor.
 *
 * @param returned the recoveries in the order of their blocks
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
 * Returns the current amount. It is the sum of the last read balance and the movements since then.
 * If no balance was read, it is the sum of all movements.
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
 * Returns the transaction of the greatest transfer, or of the newest one if several are equally
 * great. Dust cannot replace the greatest transfer.
 */
function greatestOf(transfers: readonly MovedElsewhere[]): Hex | null {
  const greatest = transfers.reduce<MovedElsewhere | undefined>(
    (most, each) => (most && BigInt(most.amount) > BigInt(each.amount) ? most : each),
    undefined,
  );
  return greatest?.transactionHash ?? null;
}

const sumOf = (amounts: readonly { amount: string }[]) =>
  amounts.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
