// Money at an address on other chains than its intent's. The loop of each chain finds it, and the
// executor returns it. A status reads it from the database, so it needs no further call to a node.

import { formatAddress, type Hex, type Keccak, toHex } from "executable-address";
import type { Elsewhere } from "executable-address/status";
import type { Kysely } from "kysely";
import { statementRows } from "../flow/groups.ts";
import { togetherBy } from "../flow/together.ts";
import type { Tables } from "../store/tables.ts";

/** An address on a chain. */
export type AddressOf = { address: Hex; chainId: number };

/** A transfer to an address on another chain. `token` EIP-55, `amount` in base units. */
export type PaidElsewhere = Omit<Elsewhere, "state"> & { transactionHash: Hex };

/**
 * The executor's results on other chains: the money that it returned, and the chains on which it
 * found no money in its last read.
 */
export type ReturnsElsewhere = {
  returned: readonly PaidElsewhere[];
  emptyOn: ReadonlySet<number>;
};

/**
 * Finds the transfers to an address on other chains, oldest first on each chain: at most 32 of
 * listed tokens and 32 of look-alikes on each. Calls of one turn share a query.
 */
export function elsewhereFinder(
  db: Kysely<Tables>,
  keccak: Keccak,
): (request: AddressOf) => Promise<PaidElsewhere[]> {
  return togetherBy<AddressOf, PaidElsewhere[]>(
    ({ chainId }) => `${chainId}`,
    async (requests) => {
      const keys = [...new Set(requests.map(({ address }) => address.slice(2).toLowerCase()))];
      const rows = await db
        .selectFrom("payments")
        .select(["address", "chain_id", "token", "amount", "transaction_hash"])
        .where(
          "address",
          "in",
          keys.map((key) => Buffer.from(key, "hex")),
        )
        .where("chain_id", "<>", requests[0]!.chainId)
        .orderBy("address")
        .orderBy("chain_id")
        .orderBy("block_number")
        .orderBy("log_index")
        .execute();
      const byAddress = Map.groupBy(rows, (row) => toHex(row.address));
      return requests.map(({ address }) =>
        (byAddress.get(address.toLowerCase() as Hex) ?? []).map((row) => ({
          chainId: Number(row.chain_id),
          token: formatAddress(row.token, keccak),
          amount: row.amount,
          transactionHash: toHex(row.transaction_hash),
        })),
      );
    },
    statementRows.costly,
  );
}

/**
 * Sums the transfers of each token and chain, less the returned amounts. If somebody else returned
 * money, no transaction is known.
 */
export function elsewhereOf(
  paid: readonly PaidElsewhere[],
  { returned, emptyOn }: ReturnsElsewhere,
): Elsewhere[] {
  const keyOf = ({ chainId, token }: PaidElsewhere) => `${chainId} ${token.toLowerCase()}`;
  const back = Map.groupBy(returned, keyOf);
  const rest = [...Map.groupBy(paid, keyOf)].flatMap(([key, transfers]): Elsewhere[] => {
    const sum = sumOf(transfers) - sumOf(back.get(key) ?? []);
    if (sum <= 0n) return [];
    const newest = transfers.at(-1)!;
    const entry = { ...newest, amount: String(sum) };
    if (!emptyOn.has(newest.chainId)) return [{ ...entry, state: "held" }];
    return [{ ...entry, state: "returned", transactionHash: null }];
  });
  const done = returned.map((each): Elsewhere => ({ ...each, state: "returned" }));
  return [...done, ...rest].toSorted((a, b) => a.chainId - b.chainId);
}

const sumOf = (amounts: readonly { amount: string }[]) =>
  amounts.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
