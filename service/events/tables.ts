// The observed states of addresses that received money, their events, and the sums of each day.
// Times are Unix milliseconds; blocks are numbers of the row's chain.

import { sql } from "kysely";
import type { Bytes, Dialect, TableStatement } from "../store/dialect.ts";
import { referenceStatements } from "../store/tables.ts";

declare module "../store/tables.ts" {
  interface Tables {
    /**
     * One for each account and address that received money. `state` to `settled_at` are the last
     * reported status; `sequence` counts the events. It is observed again from block `due_block`
     * on, or at `look_at`; a row without both waits for money. `marked_block` is the last payment's
     * block.
     */
    watches: {
      account_id: string;
      address: Bytes;
      chain_id: number;
      token: Bytes;
      created_at: number;
      marked_block: number;
      due_block: number | null;
      look_at: number | null;
      looks: number;
      /** Raised by each observation, so that only one of two simultaneous ones is saved. */
      version: number;
      sequence: number;
      state: string;
      block_number: number | null;
      block_hash: string | null;
      block_time: number | null;
      transaction_hash: string | null;
      settled_at: number | null;
      /** JSON: see changes.ts. */
      known: string | null;
    };
    /**
     * Payments to addresses in transfer logs of listed tokens and their look-alikes, that have
     * their own event (payments.ts). `amount` is decimal, in base units.
     */
    payments: {
      chain_id: number;
      address: Bytes;
      block_number: number;
      log_index: number;
      block_hash: Bytes;
      transaction_hash: Bytes;
      payer: Bytes;
      token: Bytes;
      amount: string;
      is_small: number;
      is_lookalike: number;
    };
    /**
     * Tokens that an address received on a chain and that its intent does not ask for. The block
     * and the transaction are of the newest transfer; the block is 0 if a reorganization undid it.
     */
    misdirected: {
      address: Bytes;
      chain_id: number;
      token: Bytes;
      block_number: number;
      transaction_hash: Bytes | null;
      payer: Bytes | null;
    };
    /**
     * Balances of addresses on other chains than their intents', as the executor last read them.
     * `amount` is decimal, in base units; the zero address is the native coin.
     */
    balances: {
      address: Bytes;
      chain_id: number;
      token: Bytes;
      amount: string;
      block_number: number;
    };
    /** The default of each chain, from the file of chains. */
    event_chains: { chain_id: number; confirmations: number };
    /** The confirmations that an account chose. */
    event_confirmations: { account_id: string; chain_id: number; confirmations: number };
    /** `position` of the account's newest event. */
    event_positions: { account_id: string; position: number };
    /** `id` is `evt_` and 32 hex digits, `body` is the delivered JSON. Kept for 30 days. */
    events: {
      account_id: string;
      position: number;
      id: string;
      type: string;
      address: Bytes;
      sequence: number;
      created_at: number;
      body: string;
    };
    /**
     * Sums of the requested, paid, executed, and returned amounts of each account. `day` counts
     * from 1970-01-01, UTC. Amounts are decimal, in base units, of any length, because the
     * databases cannot add 256 bits. A reorganization can make a sum negative.
     */
    money_days: {
      account_id: string;
      day: number;
      chain_id: number;
      token: Bytes;
      /** Numbers of addresses that were created, paid, executed, and that returned money. */
      asked_count: number;
      paid_count: number;
      executed_count: number;
      returned_count: number;
      asked: string;
      paid: string;
      executed: string;
      returned: string;
    };
    /** The last of an account's addresses that is included in the requested sums. */
    money_places: { account_id: string; created_at: number; address: Bytes };
  }
}

export function statements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    ...referenceStatements(dialect),
    sql`create table watches (account_id text not null, address ${bytes} not null,
        chain_id bigint not null, token ${bytes} not null, created_at bigint not null,
        marked_block bigint not null, due_block bigint, look_at bigint, looks bigint not null,
        version bigint not null, sequence bigint not null, state text not null,
        block_number bigint, block_hash text, block_time bigint, transaction_hash text,
        settled_at bigint, known text, primary key (account_id, address))`,
    // Due watches are read by account, and after a reorganization by block.
    sql`create index watches_due on watches (chain_id, due_block, account_id, address)`,
    sql`create index watches_look on watches (chain_id, look_at, account_id, address)`,
    sql`create index watches_block on watches (chain_id, block_number, account_id, address)`,
    sql`create index watches_state on watches (account_id, state, created_at, address)`,
    sql`create index watches_settled on watches (account_id, settled_at, address)`,
    sql`create table payments (chain_id bigint not null, address ${bytes} not null,
        block_number bigint not null, log_index bigint not null, block_hash ${bytes} not null,
        transaction_hash ${bytes} not null, payer ${bytes} not null, token ${bytes} not null,
        amount text not null, is_small smallint not null,
        primary key (address, chain_id, block_number, log_index))`,
    // A reorganization undoes the payments above a block.
    sql`create index payments_block on payments (chain_id, block_number)`,
    sql`create table event_chains (chain_id bigint primary key not null,
        confirmations bigint not null)`,
    sql`create table event_confirmations (account_id text not null, chain_id bigint not null,
        confirmations bigint not null, primary key (account_id, chain_id))`,
    sql`create table event_positions (account_id text primary key not null,
        position bigint not null)`,
    sql`create table events (account_id text not null, position bigint not null,
        id text not null unique, type text not null, address ${bytes} not null,
        sequence bigint not null, created_at bigint not null, body text not null,
        primary key (account_id, position))`,
    sql`create index events_address on events (account_id, address, sequence)`,
    sql`create index events_age on events (created_at)`,
    // A replay reads an account's events in a range of time.
    sql`create index events_told on events (account_id, created_at, position)`,
    sql`create table money_days (account_id text not null, day bigint not null,
        chain_id bigint not null, token ${bytes} not null, asked_count bigint not null,
        paid_count bigint not null, executed_count bigint not null, returned_count bigint not null,
        asked text not null, paid text not null, executed text not null, returned text not null,
        primary key (account_id, day, chain_id, token))`,
    sql`create table money_places (account_id text primary key not null,
        created_at bigint not null, address ${bytes} not null)`,
  ];
}

/** Payments in look-alikes of listed tokens. */
export function lookalikeStatements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`alter table payments add column is_lookalike smallint not null default 0`,
    sql`create table misdirected (address ${bytes} not null, chain_id bigint not null,
        token ${bytes} not null, block_number bigint not null, transaction_hash ${bytes},
        payer ${bytes}, primary key (address, chain_id, token))`,
    // A reorganization undoes the transfers above a block.
    sql`create index misdirected_block on misdirected (chain_id, block_number)`,
  ];
}

/** Balances on other chains, as the executor read them. */
export function balanceStatements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`create table balances (address ${bytes} not null, chain_id bigint not null,
        token ${bytes} not null, amount text not null, block_number bigint not null,
        primary key (address, chain_id, token))`,
    // A reorganization takes back the balances above a block.
    sql`create index balances_block on balances (chain_id, block_number)`,
  ];
}
