// Saves records on PostgreSQL, each with its owner and its reference. The file
// sqlite/write-worker.ts does the same on SQLite. Both are tested in store.test.ts.
//
// PostgreSQL runs the code as functions for two reasons. The first reason is the lock. After a
// function has waited for the lock, its next statements see the rows that were committed during the
// wait. A plain SQL statement sees only the rows that were committed before it started. The second
// reason is that a function needs only one round trip. Otherwise, a server that stopped between two
// round trips would block all other servers.

import { sql } from "kysely";
import type { Dialect, TableStatement } from "./tables.ts";

/**
 * The ID of the advisory lock. Only the functions `save_records` and `save_named_records` use this
 * ID.
 */
const turnLock = 1;

/**
 * Creates the functions `save_records` and `save_named_records`, for records without and with a
 * reference. Each function takes the columns of a group of records. The function returns a row for
 * each record that was not saved. The row contains the record's position in the group (starting at
 * 1) and the outcome: `exists`, `other_terms`, or `held`. For `held`, the row also contains the
 * address that has the reference.
 *
 * Both functions hold the same lock until their transaction ends. All servers together therefore
 * save one group at a time. When the lock is released, the group's rows are visible. So a reader
 * that has seen a record never misses a record with a lower `seq`. Because of the lock, a save
 * always finds an earlier record with the same reference.
 */
export function saveFunctions(dialect: Dialect): TableStatement[] {
  return dialect === "sqlite" ? [] : [sql.raw(saveRecords), sql.raw(saveNamedRecords)];
}

/**
 * Inserts the whole group with one statement. If some addresses already exist, a second statement
 * adds the record's account to `later_owners`. A third statement returns the records whose terms
 * differ from the terms in the database.
 */
const saveRecords = `
  create function save_records(bytea[], bytea[], bigint[], bytea[], text[], bigint[], text[],
    bigint[], smallint[])
  returns table (place bigint, outcome text)
  language plpgsql as $$
  declare
    inserted bigint;
  begin
    perform pg_advisory_xact_lock(${turnLock});
    insert into records (address, terms, chain_id, token, amount, expires_at, account_id,
        created_at, by_client_id)
      select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
      on conflict do nothing;
    get diagnostics inserted = row_count;
    if inserted = cardinality($1) then
      return;
    end if;

    insert into later_owners (account_id, address, created_at, by_client_id)
      select given.account_id, given.address, given.created_at, given.by_client_id
      from unnest($1, $2, $7, $8, $9) as given (address, terms, account_id, created_at,
          by_client_id),
        lateral (select terms, account_id from records where address = given.address limit 1) first
      where first.terms = given.terms and first.account_id <> given.account_id
      on conflict do nothing;
    return query
      select given.place, 'other_terms'
      from unnest($1, $2) with ordinality as given (address, terms, place),
        lateral (select terms from records where address = given.address limit 1) first
      where first.terms <> given.terms;
  end $$`;

/**
 * Saves one record after another, because two records of a group can have the same reference. Locks
 * the table of references before it takes the advisory lock. In the opposite order, the function
 * could wait for the table while it holds the advisory lock. Calls of `save_records` would then
 * have to wait too, although `save_records` does not use this table.
 */
const saveNamedRecords = `
  create function save_named_records(bytea[], bytea[], bigint[], bytea[], text[], bigint[], text[],
    bigint[], smallint[], text[], text[], smallint[])
  returns table (place bigint, outcome text, holder bytea)
  language plpgsql as $$
  declare
    given record;
    first record;
    named record;
    is_new boolean;
  begin
    lock table address_references in row exclusive mode;
    perform pg_advisory_xact_lock(${turnLock});
    for given in
      select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) with ordinality as row
        (address, terms, chain_id, token, amount, expires_at, account_id, created_at, by_client_id,
          reference, folded, is_again, place)
    loop
      place := given.place;
      holder := null;

      if given.is_again = 0 then
        select address into holder from address_references where account_id = given.account_id
          and by_client_id = given.by_client_id and reference = given.reference and is_again = 0;
        if holder <> given.address then
          outcome := 'held';
          return next;
          continue;
        end if;
      end if;

      insert into records (address, terms, chain_id, token, amount, expires_at, account_id,
          created_at, by_client_id)
        values (given.address, given.terms, given.chain_id, given.token, given.amount,
          given.expires_at, given.account_id, given.created_at, given.by_client_id)
        on conflict do nothing;
      is_new := found;
      if not is_new then
        select terms, account_id into first from records where address = given.address;
        if first.terms <> given.terms then
          outcome := 'other_terms';
          return next;
          continue;
        end if;
        if first.account_id <> given.account_id then
          insert into later_owners (account_id, address, created_at, by_client_id)
            values (given.account_id, given.address, given.created_at, given.by_client_id)
            on conflict do nothing;
          is_new := found;
        end if;
      end if;

      select reference, by_client_id into named from address_references
        where account_id = given.account_id and address = given.address;
      if named.reference = given.reference and named.by_client_id = given.by_client_id then
        continue;
      end if;
      if given.by_client_id = 1 and not is_new then
        outcome := 'exists';
        return next;
        continue;
      end if;
      insert into address_references (account_id, address, reference, folded, created_at,
          by_client_id, is_again)
        select account_id, address, given.reference, given.folded, created_at, given.by_client_id,
          given.is_again
        from owners where account_id = given.account_id and address = given.address
        on conflict (account_id, address) do update set reference = excluded.reference,
          folded = excluded.folded, by_client_id = excluded.by_client_id,
          is_again = excluded.is_again;
    end loop;
  end $$`;
