// What the executor knows and owes: where it has looked, who has money, what it sent. Times are
// seconds of the chain's clock, so that a wrong clock on the host moves nothing.

import { type Kysely, sql } from "kysely";
import type { Bytes, Dialect } from "../dialect.ts";

/** What a nonce is spent on; `fill` closes a gap with a transfer of nothing. */
export type PurposeKind = "execute" | "recover" | "fill";

/** `foreign`: another transaction of the same key took the nonce. */
export type PurposeState = "pending" | "settled" | "foreign";

export type ExecutorTables = {
  /** One sender per chain. `epoch` rises with each holder, `renewals` with each of its writes. */
  executor_leases: { chain_id: number; holder: string; epoch: number; renewals: number };
  /** The ends of past sweeps, a few hundred: the newest is the cursor. */
  executor_blocks: { chain_id: number; number: number; hash: string };
  /**
   * A vault that was seen to receive money on a chain, its intent's own or another.
   * `due_at` null: nothing to do until money comes. `not_before` holds it back after a failure,
   * and `detected_…` is where money was last seen to come.
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
  };
  /** One nonce, one purpose, until it is final. `id` is chain, sender and nonce. */
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
  };
  executor_purpose_addresses: { purpose_id: string; address: Bytes };
  /** Every transaction ever signed for a purpose, kept before it is sent. Fees in wei, decimal. */
  executor_transactions: {
    hash: string;
    purpose_id: string;
    raw: Bytes;
    max_fee: string;
    priority_fee: string;
    signed_at: number;
    signed_block: number;
  };
  /** What the factory's events of settled receipts said. Amounts decimal. */
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
  /** Gas paid per day of the chain's clock, in wei, decimal. */
  executor_spending: { chain_id: number; day: number; wei: string };
};

export async function up(db: Kysely<ExecutorTables>, dialect: Dialect): Promise<void> {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  const statements = [
    sql`create table executor_leases (chain_id bigint primary key not null, holder text not null,
        epoch bigint not null, renewals bigint not null)`,
    sql`create table executor_blocks (chain_id bigint not null, number bigint not null,
        hash text not null, primary key (chain_id, number))`,
    sql`create table executor_jobs (chain_id bigint not null, address ${bytes} not null,
        due_at bigint, not_before bigint not null, purpose_id text, failures bigint not null,
        paid_failures bigint not null, recovery_failures bigint not null, state text not null,
        reason text, detected_at bigint not null, detected_block bigint not null,
        primary key (chain_id, address))`,
    sql`create index executor_jobs_due on executor_jobs (chain_id, due_at)`,
    sql`create index executor_jobs_purpose on executor_jobs (purpose_id)`,
    sql`create table executor_purposes (id text primary key not null, chain_id bigint not null,
        sender text not null, nonce bigint not null, kind text not null, data ${bytes} not null,
        gas bigint not null, state text not null, created_at bigint not null,
        block_number bigint, transaction_hash text, unique (chain_id, sender, nonce))`,
    sql`create index executor_purposes_state on executor_purposes (chain_id, state)`,
    sql`create table executor_purpose_addresses (purpose_id text not null,
        address ${bytes} not null, primary key (purpose_id, address))`,
    sql`create table executor_transactions (hash text primary key not null,
        purpose_id text not null, raw ${bytes} not null, max_fee text not null,
        priority_fee text not null, signed_at bigint not null, signed_block bigint not null)`,
    sql`create index executor_transactions_purpose on executor_transactions (purpose_id)`,
    sql`create table executor_outcomes (purpose_id text not null, address ${bytes} not null,
        kind text not null, token text not null, amount text not null, "left" text not null,
        transaction_hash text not null, block_number bigint not null, reason text,
        primary key (purpose_id, address, kind, token))`,
    sql`create table executor_spending (chain_id bigint not null, day bigint not null,
        wei text not null, primary key (chain_id, day))`,
  ];
  for (const statement of statements) await statement.execute(db);
}
