// Stores the look-alikes that addresses have received. A look-alike is a token that imitates a
// listed token. Each combination of address, chain, and token has at most one row. The row remains
// after the tokens have left the address. When the executor examines an address, it also reads the
// balances of these tokens.

import { formatAddress, fromHex, type Hex, type Keccak, toHex } from "executable-address";
import type { Kysely, Transaction } from "kysely";
import { groupsOf, inGroups } from "../flow/groups.ts";
import { together } from "../flow/together.ts";
import type { Payment } from "../follow/payment.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";

/**
 * A token that an address received on `chainId`, in EIP-55 case. `transactionHash` and `payer` are
 * from the newest transfer. `transactionHash` and `payer` are null if a reorganization removed this
 * transfer.
 */
export type Misdirected = {
  chainId: number;
  token: Hex;
  transactionHash: Hex | null;
  payer: Hex | null;
};

/** Saves the tokens of `payments`, each with its newest transfer. The call is idempotent. */
export async function keepMisdirected(
  transaction: Transaction<Tables>,
  chainId: number,
  payments: readonly Payment[],
): Promise<void> {
  const newest = new Map<string, Payment>();
  for (const payment of payments) newest.set(`${payment.address} ${payment.token}`, payment);
  for (const some of groupsOf([...newest.values()], statementRows.short)) {
    await transaction
      .insertInto("misdirected")
      .values(
        some.map(({ address, token, blockNumber, transactionHash, payer }) => ({
          address: fromHex(address),
          chain_id: chainId,
          token: fromHex(token),
          block_number: blockNumber,
          transaction_hash: fromHex(transactionHash),
          payer: fromHex(payer),
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(["address", "chain_id", "token"])
          .doUpdateSet((row) => ({
            block_number: row.ref("excluded.block_number"),
            transaction_hash: row.ref("excluded.transaction_hash"),
            payer: row.ref("excluded.payer"),
          }))
          .whereRef("misdirected.block_number", "<=", "excluded.block_number"),
      )
      .execute();
  }
}

/**
 * Forgets transfers after block `number`, because a reorganization removed them. An affected row
 * remains, but without its transaction and its payer.
 */
export async function forgetTransfersAbove(
  db: Kysely<Tables>,
  chainId: number,
  number: number,
): Promise<void> {
  await db
    .updateTable("misdirected")
    .set({ block_number: 0, transaction_hash: null, payer: null })
    .where("chain_id", "=", chainId)
    .where("block_number", ">", number)
    .execute();
}

/** Returns the look-alike tokens that the `addresses` received on a chain. All hex is lowercase. */
export async function findTokensOf(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Hex[],
): Promise<Map<Hex, Hex[]>> {
  const rows = await inGroups(addresses, statementRows.short, (some) =>
    db
      .selectFrom("misdirected")
      .select(["address", "token"])
      .where(
        "address",
        "in",
        some.map((address) => fromHex(address)),
      )
      .where("chain_id", "=", chainId)
      .execute(),
  );
  const found = new Map<Hex, Hex[]>();
  for (const row of rows) {
    const address = toHex(row.address);
    found.set(address, [...(found.get(address) ?? []), toHex(row.token)]);
  }
  return found;
}

/**
 * Returns a function that finds the look-alike tokens that an address received on any chain.
 * Simultaneous calls share a query.
 */
export function misdirectedFinder(
  db: Kysely<Tables>,
  keccak: Keccak,
): (address: Hex) => Promise<Misdirected[]> {
  return together<Hex, Misdirected[]>(
    async (addresses) => {
      const keys = [...new Set(addresses.map((address) => address.toLowerCase()))];
      const rows = await db
        .selectFrom("misdirected")
        .selectAll()
        .where(
          "address",
          "in",
          keys.map((key) => fromHex(key)),
        )
        .orderBy("chain_id")
        .orderBy("token")
        .execute();
      const found = new Map<string, Misdirected[]>();
      for (const row of rows) {
        const address = toHex(row.address);
        const each = {
          chainId: row.chain_id,
          token: formatAddress(row.token, keccak),
          transactionHash: row.transaction_hash && toHex(row.transaction_hash),
          payer: row.payer && formatAddress(row.payer, keccak),
        };
        found.set(address, [...(found.get(address) ?? []), each]);
      }
      return addresses.map((address) => found.get(address.toLowerCase()) ?? []);
    },
    { sizeMax: statementRows.short },
  );
}
