// For whom gas is spent: a budget of its own for each account, and within it for what its client ID
// created. Wei in decimal text, days of the chain's clock.

import { type Generated, type Kysely, sql } from "kysely";

export type BudgetTables = {
  /** Settled transactions only; what is in flight is worked out from the purposes. */
  executor_account_spending: {
    chain_id: number;
    day: number;
    account_id: string;
    /** All of it, and of it what was spent on what the account's client ID created. */
    wei: string;
    client_wei: string;
    /** Besides: what tipped executions cost that failed. */
    tip_loss_wei: string;
  };
  /** The part of the transaction's gas that is for this address, and who is charged for it. */
  executor_purpose_addresses: {
    gas: number;
    account_id: string;
    by_client_id: number;
    by_tip: number;
  };
  /** 1 where the record was first created by a client ID, which any page shows. */
  records: { by_client_id: Generated<number> };
  /** Transactions that returned money of it, on the last day on which there was one. */
  executor_jobs: { recovery_day: Generated<number>; recoveries: Generated<number> };
};

export async function up(db: Kysely<BudgetTables>): Promise<void> {
  const statements = [
    sql`create table executor_account_spending (chain_id bigint not null, day bigint not null,
        account_id text not null, wei text not null, client_wei text not null,
        tip_loss_wei text not null,
        primary key (chain_id, day, account_id))`,
    sql`alter table records add column by_client_id smallint not null default 0`,
    sql`alter table executor_purpose_addresses add column gas bigint not null default 0`,
    sql`alter table executor_purpose_addresses add column account_id text not null default ''`,
    sql`alter table executor_purpose_addresses add column by_client_id bigint not null default 0`,
    sql`alter table executor_purpose_addresses add column by_tip bigint not null default 0`,
    sql`alter table executor_jobs add column recovery_day bigint not null default 0`,
    sql`alter table executor_jobs add column recoveries bigint not null default 0`,
  ];
  for (const statement of statements) await statement.execute(db);
}
