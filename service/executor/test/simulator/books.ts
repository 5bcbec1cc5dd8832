// Checks each account's gas costs and tips in the database, and their totals, against the chain.

import { type Hex, toHex } from "executable-address";
import { decodeFactoryEvent, transferTopic } from "executable-address/status";
import { divideCost } from "../../money/budgets.ts";
import { convertToWei } from "../../money/tips.ts";
import { divideGas } from "../../transactions/receipt.ts";
import { type Mined, paidFor } from "./chain-model.ts";
import { parseCalldata, wordOf } from "./factory-model.ts";
import type { World } from "./world.ts";

/** Amounts in wei. `uncovered` is the part of the gas costs that tips did not cover. */
type Sums = { gas: bigint; tips: bigint; uncovered: bigint };

/** @returns the differences between the database and the chain */
export async function judgeBooks(world: World): Promise<string[]> {
  const { db } = world;
  const kept = new Map<string, Sums>();
  for (const row of await db.selectFrom("executor_account_spending").selectAll().execute()) {
    const { gas_wei: gas, tips_wei: tips, wei: uncovered } = row;
    add(kept, row.account_id, BigInt(gas), BigInt(tips), BigInt(uncovered));
  }
  const onChain = await sumsOnChain(world);
  const accounts = new Set([...kept.keys(), ...onChain.keys()]);
  const faults = [...accounts].flatMap((id) => {
    const [found, wanted] = [toText(kept.get(id)), toText(onChain.get(id))];
    return found === wanted ? [] : [`account "${id}" took ${wanted}, down is ${found}`];
  });
  const days = await db.selectFrom("executor_spending").select("wei").execute();
  const budget = days.reduce((sum, { wei }) => sum + BigInt(wei), 0n);
  const uncovered = [...onChain.values()].reduce((sum, each) => sum + each.uncovered, 0n);
  if (budget !== uncovered) faults.push(`the budget paid ${uncovered}, down is ${budget}`);
  return faults;
}

const toText = ({ gas, tips, uncovered }: Sums = { gas: 0n, tips: 0n, uncovered: 0n }) =>
  `${gas} for gas and ${tips} in tips, ${uncovered} of the sum uncovered`;

function add(sums: Map<string, Sums>, id: string, gas: bigint, tips: bigint, uncovered: bigint) {
  const sum = sums.get(id) ?? { gas: 0n, tips: 0n, uncovered: 0n };
  sums.set(id, sum);
  sum.gas += gas;
  sum.tips += tips;
  sum.uncovered += uncovered;
}

/** Adds up the costs and tips of the final transactions on the chain. */
async function sumsOnChain({ db, chain, vaults, settings }: World): Promise<Map<string, Sums>> {
  const minedAs = new Map(
    chain.blocks.flatMap(({ mined, baseFee }) =>
      mined.map((entry) => [entry.transaction.hash, { entry, baseFee }] as const),
    ),
  );
  const byAddress = new Map(vaults.map((vault) => [vault.address, vault]));
  const accountOf = new Map(
    (await db.selectFrom("records").select(["address", "account_id"]).execute()).map((row) => [
      toHex(row.address),
      row.account_id,
    ]),
  );
  const settled = await db
    .selectFrom("executor_purposes")
    .select(["id", "transaction_hash"])
    .where("state", "=", "settled")
    .execute();
  const sums = new Map<string, Sums>();
  for (const wei of await findWrittenOff(db)) add(sums, "", wei, 0n, wei);
  for (const { id, transaction_hash: hash } of settled) {
    const found = minedAs.get(hash as Hex);
    if (!found) continue;
    const paid = paidFor(found.entry, found.baseFee);
    const shares = await computeShares(db, id, found.entry, chain);
    if (shares.length === 0) add(sums, "", paid, 0n, paid);
    for (const [address, wei] of divideCost(paid, shares)) {
      const { tip } = byAddress.get(address)!;
      const isPaid =
        tip &&
        found.entry.logs.some(({ topics: [topic, from] }) => {
          return topic === transferTopic && from === wordOf(address);
        });
      const tips = (isPaid && convertToWei(settings!.tipPrices, tip.token, tip.amount)) || 0n;
      add(sums, accountOf.get(address)!, wei, tips, wei > tips ? wei - tips : 0n);
    }
  }
  return sums;
}

/** Returns the amounts charged for unknown transactions that the executor did not find in time. */
async function findWrittenOff(db: World["db"]): Promise<bigint[]> {
  const rows = await db
    .selectFrom("executor_purposes")
    .select("paid")
    .where("state", "=", "foreign")
    .execute();
  return rows.map(({ paid }) => BigInt(paid ?? 0)).filter((paid) => paid > 0n);
}

/**
 * Uses traces to split a transaction's gas among its addresses. Without traces, uses the estimates
 * and the failures.
 */
async function computeShares(
  db: World["db"],
  id: string,
  { transaction, callGas, gasUsed, logs, succeeded }: Mined,
  { byTerms, rules, setting }: World["chain"],
) {
  const rows = await db
    .selectFrom("executor_purpose_addresses")
    .select(["address", "gas"])
    .where("purpose_id", "=", id)
    .orderBy("address")
    .execute();
  const isOurs = transaction.to === setting.factory;
  const items = isOurs ? parseCalldata(transaction.data).items : [];
  const isTraced = rules.isTraced && items.length > 1 && callGas.length === items.length;
  const traced = new Map(items.map(({ terms }, i) => [byTerms.get(terms)!.address, callGas[i]!]));
  const shares = rows.map((row) => ({ address: toHex(row.address), gas: row.gas }));
  const failed = logs.flatMap((log) => {
    const event = decodeFactoryEvent(log);
    return event?.name === "ItemFailed" ? [items[event.index]!] : [];
  });
  const vaults = failed.map(({ terms }) => byTerms.get(terms)!.address);
  const divided = succeeded ? divideGas(shares, gasUsed, new Set(vaults)) : undefined;
  return shares.map(({ address, gas }) => ({
    address,
    gas: isTraced ? traced.get(address)! : (divided?.get(address) ?? gas),
  }));
}
