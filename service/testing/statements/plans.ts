// Examines query plans, which show how the database finds rows.

import { CompiledQuery } from "kysely";
import type { Store } from "../../store/store.ts";

/** Matches the names of tables that always have few rows. */
const small =
  /^(secrets|webhook_keys|event_chains|executor_leases|executor_looks|executor_pauses|migrations)$/;

type Plan = { text: string; readsAll: string[] };

/**
 * Returns a statement's query plan. `readsAll` contains the steps that read all rows of a table or
 * of an account.
 */
export async function plansOf(store: Store, text: string, values: unknown[]): Promise<Plan> {
  return store.dialect === "sqlite"
    ? planOfSqlite(store, text, values)
    : planOfPostgres(store, text, values);
}

async function planOfSqlite({ db }: Store, text: string, values: unknown[]): Promise<Plan> {
  const query = CompiledQuery.raw(`explain query plan ${text}`, [...values]);
  const { rows } = (await db.executeQuery(query)) as { rows: { detail: string }[] };
  const details = rows.map(({ detail }) => detail);
  const isWhole = !/limit/i.test(text) || details.some((detail) => sorts.test(detail));
  const readsAll = details.filter((detail) => {
    const [, way, table = ""] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
    if (isDerived(table) || small.test(table)) return false;
    return way === "SCAN" || (isWhole && ofOneAccount.test(detail) && !few.test(table));
  });
  return { text: details.join("\n"), readsAll };
}

const sorts = /USE TEMP B-TREE FOR ORDER BY/;
/**
 * Matches a step of a plan that searches only by account, chain, or endpoint. Such a step can read
 * all rows of an account, a chain, or an endpoint.
 */
const ofOneAccount = /^SEARCH .*\((account_id|chain_id|endpoint_id)=\?\)$/;
/** Matches the names of tables that have only a few rows per account, chain, or endpoint. */
const few = new RegExp(
  `^(accounts|account_names|api_keys|client_ids|origins|o|usage|money_places|event_[a-z]+|` +
    "webhook_endpoints|anchors|executor_(account_)?spending)$",
);

/**
 * Returns whether a plan uses `name` for an earlier step's result, and not for a table. The plan
 * may read the whole result, because the earlier step is checked separately.
 */
const isDerived = (name: string) =>
  /^(CONSTANT|page|walk|due|next|ended|judged|json_each|new|o|n|primary|[0-9]+)$/.test(name);

type Node = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Cond"?: string;
  "Recheck Cond"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: Node[];
};

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/**
 * Statements that disable full scans. Otherwise, PostgreSQL would prefer full scans, because the
 * test's tables are small.
 */
const byIndex = ["seqscan", "hashjoin", "mergejoin"].map((way) => `set local enable_${way} = off`);

async function planOfPostgres({ db }: Store, text: string, values: unknown[]): Promise<Plan> {
  return db.transaction().execute(async (transaction) => {
    for (const way of byIndex) await transaction.executeQuery(CompiledQuery.raw(way));
    const [plan] = await explain(transaction, "format json", text, values);
    const readsAll = nodesOf(plan!)
      .filter((node) => node["Relation Name"] !== undefined && !isBounded(node))
      .map((node) => `${node["Node Type"]} on ${node["Relation Name"]}`);
    return { text: JSON.stringify(plan), readsAll };
  });
}

const isBounded = (node: Node) =>
  small.test(node["Relation Name"]!) ||
  !node["Node Type"].includes("Scan") ||
  node["Node Type"] === "CTE Scan" ||
  (node["Index Cond"] ?? node["Recheck Cond"]) !== undefined;

/**
 * Runs the statement and undoes its changes. Returns the number of rows that PostgreSQL read from
 * tables, including rows that a filter removed.
 * @param isFree whether PostgreSQL is allowed to use full scans
 */
export async function rowsReadBy(
  store: Store,
  text: string,
  values: unknown[],
  isFree = false,
): Promise<number> {
  const undone = new Error("undone");
  let read = 0;
  await store.db
    .transaction()
    .execute(async (transaction) => {
      const ways = isFree ? [] : byIndex;
      for (const way of ways) await transaction.executeQuery(CompiledQuery.raw(way));
      const [plan] = await explain(transaction, "analyze, format json", text, values);
      for (const node of nodesOf(plan!)) {
        if (node["Relation Name"] === undefined || !node["Node Type"].includes("Scan")) continue;
        const rows =
          node["Actual Rows"]! +
          (node["Rows Removed by Filter"] ?? 0) +
          (node["Rows Removed by Index Recheck"] ?? 0);
        read += rows * node["Actual Loops"]!;
      }
      throw undone;
    })
    .catch((error) => {
      if (error !== undone) throw error;
    });
  return Math.round(read);
}

type Db = Pick<Store["db"], "executeQuery">;

async function explain(db: Db, how: string, text: string, values: unknown[]): Promise<Node[]> {
  const query = CompiledQuery.raw(`explain (${how}) ${text}`, [...values]);
  const { rows } = (await db.executeQuery(query)) as { rows: { "QUERY PLAN": { Plan: Node }[] }[] };
  return rows[0]!["QUERY PLAN"].map(({ Plan }) => Plan);
}
