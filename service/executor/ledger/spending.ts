// Adds up gas costs and received tips by chain, account, and day. A transaction is charged to the
// UTC day of its block's timestamp. The amounts come from receipts. If a reorganization removes a
// transaction, its charges are reverted.

import type { Hex } from "executable-address";
import type { Kysely, Transaction } from "kysely";
import { dateOf, dayOf } from "../../flow/days.ts";
import type { Tables } from "../../store/tables.ts";
import { type AccountSpending, divideCost, noSpending, type Payer } from "../money/budgets.ts";
import { toShare } from "./purposes.ts";

/** An address's share of a transaction's cost, and the value of the address's tips, in wei. */
type Charge = Payer & { wei: bigint; tipsWei: bigint };

/** The account ID for costs that no address caused, such as filling a nonce gap. */
export const noAccount = "";

/**
 * The cost of a mined transaction, in wei. `paid` is charged to the day of `minedAtSeconds`, even
 * if the transaction becomes final later. `paid` is split in proportion to `gasByAddress` or, if
 * this is undefined, to the gas estimates. `tips` is the value of each address's tips.
 */
export type Cost = {
  purposeId: string;
  paid: bigint;
  minedAtSeconds: number;
  gasByAddress?: ReadonlyMap<Hex, number> | undefined;
  tips: ReadonlyMap<Hex, bigint>;
};

/**
 * An account's totals for a day, in wei. `gas` is the full cost, and `earned` is the value of all
 * tips.
 */
type AccountDay = AccountSpending & { gas: bigint; earned: bigint };

const nothing: AccountDay = { ...noSpending, gas: 0n, earned: 0n };

/**
 * Returns the wei charged to the chain's budget on a day.
 *
 * @param day days since 1970, by block time
 */
export async function readSpending(
  db: Kysely<Tables>,
  chainId: number,
  day: number,
): Promise<bigint> {
  const row = await db
    .selectFrom("executor_spending")
    .select("wei")
    .where("chain_id", "=", chainId)
    .where("day", "=", day)
    .executeTakeFirst();
  return BigInt(row?.wei ?? 0);
}

/** Lists the daily charges to the chain's budget in wei, for the last `limit` days with charges. */
export function listSpending(db: Kysely<Tables>, chainId: number, limit: number) {
  return db
    .selectFrom("executor_spending")
    .select(["day", "wei"])
    .where("chain_id", "=", chainId)
    .orderBy("day", "desc")
    .limit(limit)
    .execute();
}

/** Returns each account's totals for a day, by account ID. */
export async function readAccountSpending(
  db: Kysely<Tables>,
  chainId: number,
  day: number,
): Promise<Map<string, AccountDay>> {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .where("chain_id", "=", chainId)
    .where("day", "=", day)
    .execute();
  return new Map(
    rows.map((row) => [
      row.account_id,
      {
        total: BigInt(row.wei),
        client: BigInt(row.client_wei),
        tips: BigInt(row.tip_loss_wei),
        gas: BigInt(row.gas_wei),
        earned: BigInt(row.tips_wei),
      },
    ]),
  );
}

/**
 * Charges each account, and the chain, for the costs that tips did not cover.
 *
 * @param sign 1 adds charges, -1 reverts them
 */
async function charge(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  charges: readonly Charge[],
  sign: 1n | -1n,
): Promise<void> {
  const accounts = await readAccountSpending(transaction, chainId, day);
  const changed = new Map<string, AccountDay>();
  let total = 0n;
  for (const { accountId, isClientId, isTipped, wei, tipsWei } of charges) {
    const account = changed.get(accountId) ?? { ...(accounts.get(accountId) ?? nothing) };
    changed.set(accountId, account);
    const uncovered = sign * (wei > tipsWei ? wei - tipsWei : 0n);
    account.gas += sign * wei;
    account.earned += sign * tipsWei;
    account.total += uncovered;
    if (isClientId) account.client += uncovered;
    if (isTipped) account.tips += uncovered;
    total += uncovered;
  }
  await saveSpending(transaction, chainId, day, total);
  for (const [accountId, account] of changed) {
    await saveAccountDay(transaction, chainId, day, accountId, account);
  }
}

async function saveSpending(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  more: bigint,
): Promise<void> {
  const wei = ((await readSpending(transaction, chainId, day)) + more).toString();
  await transaction
    .insertInto("executor_spending")
    .values({ chain_id: chainId, day, wei })
    .onConflict((conflict) => conflict.columns(["chain_id", "day"]).doUpdateSet({ wei }))
    .execute();
}

async function saveAccountDay(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  accountId: string,
  { total, client, tips, gas, earned }: AccountDay,
): Promise<void> {
  const sums = {
    wei: total.toString(),
    client_wei: client.toString(),
    tip_loss_wei: tips.toString(),
    gas_wei: gas.toString(),
    tips_wei: earned.toString(),
  };
  await transaction
    .insertInto("executor_account_spending")
    .values({ chain_id: chainId, day, account_id: accountId, ...sums })
    .onConflict((conflict) => conflict.columns(["chain_id", "day", "account_id"]).doUpdateSet(sums))
    .execute();
}

/** The maximum number of rows per account: enough for a month on one chain. */
const rowsMax = 31;

/** Returns an account's newest rows, one per day and chain. Amounts are in wei, decimal. */
export async function findAccountGas(db: Kysely<Tables>, accountId: string) {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .where("account_id", "=", accountId)
    .orderBy("day", "desc")
    .orderBy("chain_id")
    .limit(rowsMax)
    .execute();
  return rows.map((row) => ({
    chainId: row.chain_id,
    day: dateOf(row.day),
    gasWei: row.gas_wei,
    tipsWei: row.tips_wei,
    wei: row.wei,
    clientIdWei: row.client_wei,
    failedTipsWei: row.tip_loss_wei,
  }));
}

/**
 * Returns gas costs and tips by day, chain, and account. The account ID is empty for costs that no
 * address caused.
 */
export async function readReport(db: Kysely<Tables>) {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .orderBy("day")
    .orderBy("chain_id")
    .orderBy("account_id")
    .execute();
  return rows.map((row) => ({
    day: dateOf(row.day),
    chainId: row.chain_id,
    accountId: row.account_id,
    gasWei: row.gas_wei,
    tipsWei: row.tips_wei,
    notCoveredWei: row.wei,
  }));
}

/**
 * When a transaction is final, saves the costs and tips of its addresses, and charges the accounts.
 */
export async function settleCharges(
  transaction: Transaction<Tables>,
  chainId: number,
  { purposeId, minedAtSeconds, paid, gasByAddress, tips }: Cost,
): Promise<void> {
  const rows = await readShares(transaction, purposeId);
  const shares = rows.map(toShare);
  const gasUsed = shares.map(({ address, gas }) => ({
    address,
    gas: gasByAddress?.get(address) ?? gas,
  }));
  const costs = divideCost(paid, gasUsed);
  const charges = shares.map((share) => ({
    ...share,
    wei: costs.get(share.address)!,
    tipsWei: tips.get(share.address) ?? 0n,
  }));
  if (rows.length > 0) {
    const charged = charges.map(({ wei, tipsWei }, index) => {
      return { ...rows[index]!, wei: wei.toString(), tips_wei: tipsWei.toString() };
    });
    await transaction
      .insertInto("executor_purpose_addresses")
      .values(charged)
      .onConflict((conflict) =>
        conflict.columns(["purpose_id", "address"]).doUpdateSet((row) => ({
          wei: row.ref("excluded.wei"),
          tips_wei: row.ref("excluded.tips_wei"),
        })),
      )
      .execute();
  }
  const own = { accountId: noAccount, isClientId: false, isTipped: false, wei: paid, tipsWei: 0n };
  await charge(
    transaction,
    chainId,
    dayOf(minedAtSeconds),
    shares.length > 0 ? charges : [own],
    1n,
  );
}

/** Reverts the charges of {@link settleCharges}. */
export async function takeBack(
  transaction: Transaction<Tables>,
  chainId: number,
  purposeId: string,
): Promise<void> {
  const purpose = await transaction
    .selectFrom("executor_purposes")
    .select(["day", "paid"])
    .where("id", "=", purposeId)
    .executeTakeFirst();
  if (!purpose || purpose.day === null) return;
  const rows = await readShares(transaction, purposeId);
  const charges = rows.map((row) => ({
    ...toShare(row),
    wei: BigInt(row.wei),
    tipsWei: BigInt(row.tips_wei),
  }));
  const wei = BigInt(purpose.paid ?? 0);
  const own = { accountId: noAccount, isClientId: false, isTipped: false, wei, tipsWei: 0n };
  await charge(transaction, chainId, purpose.day, charges.length > 0 ? charges : [own], -1n);
}

const readShares = (transaction: Transaction<Tables>, purposeId: string) =>
  transaction
    .selectFrom("executor_purpose_addresses")
    .selectAll()
    .where("purpose_id", "=", purposeId)
    .orderBy("address")
    .execute();
