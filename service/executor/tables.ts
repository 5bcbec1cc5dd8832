// The executor's tables. Times are block times in seconds, so that a wrong host clock has no
// effect.

import { type Generated, sql } from "kysely";
import type { Dialect, TableStatement } from "../store/tables.ts";

/**
 * The kind of transaction that uses a nonce. `return` is a recovery of one reported token
 * (jobs/reported-tokens.ts). A `fill` belongs to no address. It is one of these transactions:
 * - a zero-value transfer that fills a nonce gap
 * - a transaction found on chain that neither executes nor recovers an address
 *   (transactions/foreign.ts)
 * - a transaction found on chain, if only its nonce is saved
 */
export type PurposeKind = "execute" | "recover" | "return" | "fill";

/**
 * `foreign` means that the nonce was used by a transaction that is not saved. That transaction is
 * from an earlier day, is not signed by the key, or was not found.
 */
export type PurposeState = "pending" | "settled" | "foreign";

declare module "../store/tables.ts" {
  interface Tables {
    /**
     * The process that is allowed to send on a chain. `epoch` increases when another process takes
     * the lease. `renewals` increases whenever the holder writes.
     */
    executor_leases: { chain_id: number; holder: string; epoch: number; renewals: number };
    /**
     * An address that received money on a chain. The intent can be for another chain. `due_at` is
     * null if there is nothing to do until more money arrives. `not_before` is the end of the
     * backoff after a failure. `detected_at` and `detected_block` say when money was last detected.
     */
    executor_jobs: {
      chain_id: number;
      address: Bytes;
      due_at: number | null;
      not_before: number;
      purpose_id: string | null;
      failures: number;
      paid_failures: number;
      recovery_failures: number;
      state: "waiting" | "sent" | "idle" | "given_up" | "dropped";
      reason: string | null;
      detected_at: number;
      detected_block: number;
      /** The last day with a recovery, and the number of recoveries on that day. */
      recovery_day: Generated<number>;
      recoveries: Generated<number>;
      /** The account that first created the record; empty if the record did not exist yet. */
      account_id: Generated<string>;
    };
    /** One row per used nonce. `id` consists of the chain, the sender, and the nonce. */
    executor_purposes: {
      id: string;
      chain_id: number;
      sender: string;
      nonce: number;
      kind: PurposeKind;
      data: Bytes;
      gas: number;
      state: PurposeState;
      created_at: number;
      block_number: number | null;
      transaction_hash: string | null;
      /** The day to which the cost is charged; null while the cost has not been charged. */
      day: Generated<number | null>;
      /** In wei, decimal. */
      paid: Generated<string | null>;
    };
    /**
     * An address in a transaction, with its share of the gas and the charged account. Once the
     * transaction is final, `wei` is the address's cost, and `tips_wei` is the value of the
     * address's tips. Both are decimal.
     */
    executor_purpose_addresses: {
      purpose_id: string;
      address: Bytes;
      gas: number;
      account_id: string;
      by_client_id: number;
      by_tip: number;
      wei: Generated<string>;
      tips_wei: Generated<string>;
    };
    /**
     * Every signed transaction, saved before the executor sends it. Fees are in wei, decimal.
     * `is_fill` is 1 for a zero-value transfer, even if it replaces an execution or a recovery.
     */
    executor_transactions: {
      hash: string;
      purpose_id: string;
      raw: Bytes;
      max_fee: string;
      priority_fee: string;
      signed_at: number;
      signed_block: number;
      is_fill: Generated<number>;
    };
    /** The factory's events in final receipts. Amounts are decimal. */
    executor_outcomes: {
      purpose_id: string;
      address: Bytes;
      kind: "executed" | "failed" | "recovered" | "recovery_failed";
      token: string;
      amount: string;
      left: string;
      transaction_hash: string;
      block_number: number;
      reason: string | null;
    };
    /** The total charges per chain and day, in wei, decimal. */
    executor_spending: { chain_id: number; day: number; wei: string };
    /**
     * The costs of final transactions. Reserved costs are computed from the pending transactions.
     * `gas_wei` is the full cost paid for the account, and `tips_wei` is the value of all tips from
     * its addresses. `wei` is the cost that tips did not cover. `client_wei` and `tip_loss_wei` are
     * parts of `wei`. `client_wei` is the cost for addresses that were created with the client ID.
     * `tip_loss_wei` is the cost that tips did not cover although they seemed sufficient when the
     * executions were sent.
     */
    executor_account_spending: {
      chain_id: number;
      day: number;
      account_id: string;
      wei: string;
      client_wei: string;
      tip_loss_wei: string;
      gas_wei: string;
      tips_wei: string;
    };
    /** A chain on which an operator has paused signing. */
    executor_pauses: { chain_id: number };
    /** The progress of `scanNewRecords`, which has read the balances of all records up to `seq`. */
    executor_looks: { chain_id: number; seq: number };
    /**
     * Unlisted tokens that an address has received according to a report. `day` and `account_id`
     * belong to the newest report. `due_at` is the time of the next attempt, or null if no attempt
     * is planned. `purpose_id` is the newest attempt to send the token to `recovery`. The table's
     * name is an earlier term for reported tokens, because a new name would need a migration.
     */
    executor_named: {
      chain_id: number;
      address: Bytes;
      token: Bytes;
      account_id: string;
      day: number;
      due_at: number | null;
      purpose_id: string | null;
    };
  }
}

/**
 * SQL for 1 if a job has failed before, and 0 otherwise. Queries must use exactly this expression,
 * because the index `executor_jobs_turn` contains it.
 */
export const hasFailed = sql`case when failures > 0 then 1 else 0 end`;

export function statements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`create table executor_leases (chain_id bigint primary key not null, holder text not null,
        epoch bigint not null, renewals bigint not null)`,
    sql`create table executor_jobs (chain_id bigint not null, address ${bytes} not null,
        due_at bigint, not_before bigint not null, purpose_id text, failures bigint not null,
        paid_failures bigint not null, recovery_failures bigint not null, state text not null,
        reason text, detected_at bigint not null, detected_block bigint not null,
        recovery_day bigint not null default 0, recoveries bigint not null default 0,
        account_id text not null default '', primary key (chain_id, address))`,
    sql`create index executor_jobs_due on executor_jobs (chain_id, due_at, address)
        where purpose_id is null`,
    sql`create index executor_jobs_turn on executor_jobs (chain_id, account_id,
          (${hasFailed}), due_at, address)
        where purpose_id is null and due_at is not null`,
    sql`create index executor_jobs_purpose on executor_jobs (purpose_id)`,
    sql`create table executor_purposes (id text primary key not null, chain_id bigint not null,
        sender text not null, nonce bigint not null, kind text not null, data ${bytes} not null,
        gas bigint not null, state text not null, created_at bigint not null,
        block_number bigint, transaction_hash text, day bigint, paid text,
        unique (chain_id, sender, nonce))`,
    // Used to find a key's pending nonces without reading the settled ones.
    sql`create index executor_purposes_state
        on executor_purposes (chain_id, sender, state, block_number)`,
    sql`create table executor_purpose_addresses (purpose_id text not null,
        address ${bytes} not null, gas bigint not null, account_id text not null,
        by_client_id bigint not null, by_tip bigint not null,
        wei text not null default '0', tips_wei text not null default '0',
        primary key (purpose_id, address))`,
    sql`create table executor_transactions (hash text primary key not null,
        purpose_id text not null, raw ${bytes} not null, max_fee text not null,
        priority_fee text not null, signed_at bigint not null, signed_block bigint not null,
        is_fill bigint not null default 0)`,
    sql`create index executor_transactions_purpose on executor_transactions (purpose_id)`,
    sql`create table executor_outcomes (purpose_id text not null, address ${bytes} not null,
        kind text not null, token text not null, amount text not null, "left" text not null,
        transaction_hash text not null, block_number bigint not null, reason text,
        primary key (purpose_id, address, kind, token))`,
    sql`create table executor_spending (chain_id bigint not null, day bigint not null,
        wei text not null, primary key (chain_id, day))`,
    sql`create table executor_account_spending (chain_id bigint not null, day bigint not null,
        account_id text not null, wei text not null, client_wei text not null,
        tip_loss_wei text not null, gas_wei text not null, tips_wei text not null,
        primary key (chain_id, day, account_id))`,
    sql`create index executor_account_spending_account
        on executor_account_spending (account_id, day)`,
    sql`create table executor_pauses (chain_id bigint primary key not null)`,
    sql`create table executor_looks (chain_id bigint primary key not null,
        seq bigint not null)`,
  ];
}

/** Status requests use this index to find amounts sent to `recovery` on other chains. */
export const returnStatements = (): TableStatement[] => [
  sql`create index executor_outcomes_returned on executor_outcomes (address)
      where kind = 'recovered'`,
];

export function reportedStatements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`create table executor_named (chain_id bigint not null, address ${bytes} not null,
        token ${bytes} not null, account_id text not null, day bigint not null, due_at bigint,
        purpose_id text, primary key (chain_id, address, token))`,
    sql`create index executor_named_due on executor_named (chain_id, due_at)
        where due_at is not null`,
    sql`create index executor_named_account on executor_named (account_id, day)`,
    // Used to count a day's transactions for reported tokens.
    sql`create index executor_purposes_returns on executor_purposes (chain_id, created_at)
        where kind = 'return'`,
  ];
}
