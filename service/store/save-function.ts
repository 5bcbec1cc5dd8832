// Saves creates on PostgreSQL: each record with its owner and its reference. sqlite/write-worker.ts
// does the same on SQLite, and store.test.ts runs against both.
//
// It is a function of the database because its statements must see what other servers committed
// while it waited for its turn. A single statement would not: it sees the database as of its start.
// A transaction of several round trips would keep all servers waiting if its own server stopped
// halfway.

import { sql } from "kysely";
import type { Dialect, TableStatement } from "./dialect.ts";

/** No other statement takes this lock. */
const turnLock = 1;

/**
 * Makes `save_records`, which takes the columns of a group and returns one row for each, in order:
 * `saved`, `exists`, `held` with the address that has the reference, or `other_terms`.
 *
 * The lock lets one group at a time draw numbers and references, on all servers. PostgreSQL
 * releases it when the rows are visible, so a reader that has seen a number never misses a lower
 * one, and of two creates with one reference the second sees the first.
 */
export function saveFunction(dialect: Dialect): TableStatement[] {
  if (dialect === "sqlite") return [];
  return [
    sql.raw(`create function save_records(bytea[], bytea[], bigint[], bytea[], text[], bigint[],
      text[], bigint[], smallint[], text[], text[], smallint[])
    returns table (outcome text, holder bytea) language plpgsql as $$
    declare
      given record;
      first record;
      named record;
      is_new boolean;
    begin
      perform pg_advisory_xact_lock(${turnLock});
      for given in
        select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as row (address,
          terms, chain_id, token, amount, expires_at, account_id, created_at, by_client_id,
          reference, folded, is_again)
      loop
        outcome := 'saved';
        holder := null;

        if given.is_again = 0 and given.reference is not null then
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

        if given.reference is not null then
          select reference, by_client_id into named from address_references
            where account_id = given.account_id and address = given.address;
          if named.reference = given.reference and named.by_client_id = given.by_client_id then
            null;
          elsif given.by_client_id = 1 and not is_new then
            outcome := 'exists';
          else
            insert into address_references (account_id, address, reference, folded, created_at,
                by_client_id, is_again)
              select account_id, address, given.reference, given.folded, created_at,
                given.by_client_id, given.is_again
              from owners where account_id = given.account_id and address = given.address
              on conflict (account_id, address) do update set reference = excluded.reference,
                folded = excluded.folded, by_client_id = excluded.by_client_id,
                is_again = excluded.is_again;
          end if;
        end if;
        return next;
      end loop;
    end $$`),
  ];
}
