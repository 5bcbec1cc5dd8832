// The tables of observed addresses, of their payments and events, and of each account's daily sums.
// Times are Unix milliseconds. A block number is on the chain in the row's `chain_id`.

import { type Generated, sql } from "kysely";
import { type Dialect, referenceStatements, type TableStatement } from "../store/tables.ts";

declare module "../store/tables.ts" {
  interface Tables {
    /**
     * The observed addresses (watches). An address is observed after it has received money. An
     * observed address has a row for each account that gets its events. The columns from `state` to
     * `settled_at` contain the last reported status. `sequence` counts the address's events. The
     * status is read again when the chain reaches block `due_block`, or at the time `due_at`. If
     * both are null, the status is read again only after a payment or a settlement. `readings`
     * counts the status reads since the last event, or since the address was last marked.
     * `marked_block` is the newest block for which the address was marked (mark.ts).
     */
    watches: {
      account_id: string;
      address: Bytes;
      chain_id: number;
      token: Bytes;
      created_at: number;
      marked_block: number;
      due_block: number | null;
      due_at: number | null;
      readings: number;
      /**
       * The number of saved observations. If two observers save an observation of the same version,
       * only the first save succeeds.
       */
      version: number;
      sequence: number;
      state: string;
      block_number: number | null;
      block_hash: string | null;
      block_time: number | null;
      transaction_hash: string | null;
      settled_at: number | null;
      /** JSON of `KnownStatus` (changes.ts). */
      known: string | null;
    };
    /**
     * Payments from transfer logs of listed tokens and their look-alikes (payments.ts). `amount` is
     * decimal, in base units.
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
      /**
       * 1 if a quorum of endpoints returned the log of a payment on another chain than the
       * intent's. Earlier versions also stored such a payment if no quorum returned its log. In
       * those rows, the value is 0. For payments on the intent's chain, the value is always 0.
       */
      is_agreed: Generated<number>;
    };
    /**
     * Addresses whose payments and returns on other chains have to be examined (mark.ts). There is
     * at most one row for each combination of account, address, and other chain. A row is due when
     * the executor has read the chain `other_chain_id` up to `due_block`. `marked_block` is the
     * newest block for which the address was marked. Each new mark increments `marks`. The row is
     * deleted after all its payments and returns were reported.
     */
    watches_elsewhere: {
      account_id: string;
      address: Bytes;
      chain_id: number;
      other_chain_id: number;
      marked_block: number;
      due_block: number;
      marks: number;
    };
    /**
     * The look-alikes that an address received (misdirected.ts). The block, the transaction, and
     * the payer belong to the newest transfer. After a reorganization removes the newest transfer,
     * the block is 0. The transaction and the payer are then null.
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
     * The balances that the executor last read on chains other than the intent's. `amount` is
     * decimal, in base units. For the native coin, the token is the zero address.
     */
    balances: {
      address: Bytes;
      chain_id: number;
      token: Bytes;
      amount: string;
      block_number: number;
    };
    /** The default number of confirmations by chain, from the chains file. */
    event_chains: { chain_id: number; confirmations: number };
    /** The numbers of confirmations that accounts have set. */
    event_confirmations: { account_id: string; chain_id: number; confirmations: number };
    /** The position of each account's newest event. */
    event_positions: { account_id: string; position: number };
    /**
     * The events that are not older than `eventRetentionMs`. `id` is `evt_` and 32 hex digits.
     * `body` is the JSON that webhooks deliver.
     */
    events: {
      account_id: string;
      position: number;
      id: string;
      type: string;
      address: Bytes;
      sequence: number;
      created_at: number;
      body: string;
      /** Set if the event is about a chain other than the intent's. */
      other_chain_id: number | null;
    };
    /**
     * The requested, paid, executed, and returned amounts by account, day, chain, and token. `day`
     * is the number of days since 1970-01-01, UTC. Amounts are decimal text in base units, because
     * the databases cannot add 256-bit numbers. A reorganization can make an amount negative.
     */
    money_days: {
      account_id: string;
      day: number;
      chain_id: number;
      token: Bytes;
      /**
       * The number of created addresses. `paid_count` counts the paid addresses, `executed_count`
       * the executed addresses, and `returned_count` the addresses that returned money.
       */
      requested_count: number;
      paid_count: number;
      executed_count: number;
      returned_count: number;
      requested: string;
      paid: string;
      executed: string;
      returned: string;
    };
    /** For each account, the last address whose requested amount was added to the daily sums. */
    money_places: { account_id: string; created_at: number; address: Bytes };
  }
}

export function statements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    ...referenceStatements(dialect),
    sql`create table watches (account_id text not null, address ${bytes} not null,
        chain_id bigint not null, token ${bytes} not null, created_at bigint not null,
        marked_block bigint not null, due_block bigint, due_at bigint, readings bigint not null,
        version bigint not null, sequence bigint not null, state text not null,
        block_number bigint, block_hash text, block_time bigint, transaction_hash text,
        settled_at bigint, known text, primary key (account_id, address))`,
    // The first two indexes find addresses that are due. The third index finds addresses by block
    // after a reorganization.
    sql`create index watches_due_block on watches (chain_id, due_block, account_id, address)`,
    sql`create index watches_due_at on watches (chain_id, due_at, account_id, address)`,
    sql`create index watches_block on watches (chain_id, block_number, account_id, address)`,
    sql`create index watches_state on watches (account_id, state, created_at, address)`,
    sql`create index watches_settled on watches (account_id, settled_at, address)`,
    sql`create table payments (chain_id bigint not null, address ${bytes} not null,
        block_number bigint not null, log_index bigint not null, block_hash ${bytes} not null,
        transaction_hash ${bytes} not null, payer ${bytes} not null, token ${bytes} not null,
        amount text not null, is_small smallint not null,
        primary key (address, chain_id, block_number, log_index))`,
    // For reorganizations: finds the payments to delete.
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
    // Finds an account's events in a time range, to deliver them again.
    sql`create index events_created on events (account_id, created_at, position)`,
    sql`create table money_days (account_id text not null, day bigint not null,
        chain_id bigint not null, token ${bytes} not null, requested_count bigint not null,
        paid_count bigint not null, executed_count bigint not null, returned_count bigint not null,
        requested text not null, paid text not null, executed text not null, returned text not null,
        primary key (account_id, day, chain_id, token))`,
    sql`create table money_places (account_id text primary key not null,
        created_at bigint not null, address ${bytes} not null)`,
  ];
}

/** Tables for payments in look-alike tokens, which imitate listed tokens. */
export function lookalikeStatements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`alter table payments add column is_lookalike smallint not null default 0`,
    sql`create table misdirected (address ${bytes} not null, chain_id bigint not null,
        token ${bytes} not null, block_number bigint not null, transaction_hash ${bytes},
        payer ${bytes}, primary key (address, chain_id, token))`,
    // For reorganizations: finds the transfers to remove.
    sql`create index misdirected_block on misdirected (chain_id, block_number)`,
  ];
}

/** Tables for events on chains other than the intent's chain. */
export function elsewhereStatements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`alter table payments add column is_agreed smallint not null default 0`,
    sql`alter table events add column other_chain_id bigint`,
    sql`create table watches_elsewhere (account_id text not null, address ${bytes} not null,
        chain_id bigint not null, other_chain_id bigint not null, marked_block bigint not null,
        due_block bigint not null, marks bigint not null,
        primary key (account_id, address, other_chain_id))`,
    // The observer of the intent's chain uses the first index to find due rows. The executor of
    // `other_chain_id` uses the second index to find rows that wait for a block.
    sql`create index watches_elsewhere_due
        on watches_elsewhere (other_chain_id, chain_id, due_block, account_id, address)`,
    sql`create index watches_elsewhere_block on watches_elsewhere (other_chain_id, due_block)`,
  ];
}

/** Tables for the balances that the executor reads on other chains. */
export function balanceStatements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`create table balances (address ${bytes} not null, chain_id bigint not null,
        token ${bytes} not null, amount text not null, block_number bigint not null,
        primary key (address, chain_id, token))`,
    // For reorganizations: finds the balances to delete.
    sql`create index balances_block on balances (chain_id, block_number)`,
  ];
}
