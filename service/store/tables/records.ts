// Records and who owns them. Times are Unix milliseconds.

import { type Generated, sql } from "kysely";
import type { Bytes, Dialect, Statement } from "../dialect.ts";

export type RecordTables = {
  /**
   * `address` 20 bytes; everything else of a record is derived from `terms`. With it stands who
   * created it first, and when; `by_client_id` is 1 where a client ID did, which any page shows.
   */
  records: {
    address: Bytes;
    terms: Bytes;
    account_id: string;
    created_at: number;
    by_client_id: Generated<number>;
  };
  /** Accounts that created what another had created before. */
  later_owners: Owner & { by_client_id: number };
  /** A view of both: every account that created an address, since its own first create. */
  owners: Owner;
};

type Owner = { account_id: string; address: Bytes; created_at: number };

export function statements(dialect: Dialect): Statement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    // Terms stay out of the index's pages: rows are appended, only keys land at random. Each index
    // writes a page of its own for nearly every row, so the first owner has no table and no index
    // of its own: a row commits in two thirds of the time it took with them.
    // No foreign key: it would cost every create a look-up, and nothing deletes an account.
    sql`create table records (address ${bytes} primary key not null, terms ${bytes} not null,
        account_id text not null, created_at bigint not null,
        by_client_id smallint not null default 0)`,
    sql`create index records_newest on records (account_id, created_at, address)`,
    sql`create table later_owners (account_id text not null, address ${bytes} not null,
        created_at bigint not null, by_client_id smallint not null,
        primary key (account_id, address))`,
    sql`create index later_owners_newest on later_owners (account_id, created_at, address)`,
    sql`create view owners as select account_id, address, created_at from records
        union all select account_id, address, created_at from later_owners`,
    // The other owners of an address that is paid are found by it.
    sql`create index later_owners_address on later_owners (address, created_at)`,
  ];
}
