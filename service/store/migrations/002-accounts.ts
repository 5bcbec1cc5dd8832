// What the dashboard needs: people's sign-ins, the usage of credentials, the audit log, and the
// limits that servers share. Times are Unix milliseconds, but for the auth_ tables, whose columns
// are better-auth's own (accounts/sign-in.ts is its only user).

import { type Kysely, sql } from "kysely";
import type { Dialect } from "../dialect.ts";

export type AccountTables = {
  /** `hour` is when it began. One row is written per batch of requests, not per request. */
  usage: {
    account_id: string;
    hour: number;
    kind: "apiKey" | "clientId";
    created: number;
    refused: number;
  };
  /** Rows are added, never changed or removed: triggers hold to it. `id` is `at` and 8 digits. */
  audit: {
    id: string;
    account_id: string;
    at: number;
    event: string;
    ip: string | null;
    detail: string | null;
  };
  /** Drawn at the first start, shared by all servers. */
  secrets: { name: string; value: string };
  /** PostgreSQL alone; microseconds. See accounts/limits-postgres.ts. */
  limits: { key: string; whole_at: number; at: number; admitted: number };
  /** `id` is the account's. */
  auth_users: { id: string; email: string; name: string };
  auth_tokens: { id: string; identifier: string; value: string };
};

export async function up(db: Kysely<AccountTables>, dialect: Dialect): Promise<void> {
  const isPostgres = dialect === "postgres";
  const statements = [
    sql`create table usage (account_id text not null, hour bigint not null, kind text not null,
        created bigint not null, refused bigint not null, primary key (account_id, hour, kind))`,
    sql`create table audit (id text primary key not null, account_id text not null,
        at bigint not null, event text not null, ip text, detail text)`,
    sql`create index audit_newest on audit (account_id, id)`,
    sql`create table secrets (name text primary key not null, value text not null)`,
    ...(isPostgres ? [...appendOnlyPostgres, ...limits] : appendOnlySqlite),
    ...signIn(isPostgres),
  ];
  for (const statement of statements) await statement.execute(db);
}

const appendOnlySqlite = ["update", "delete"].map((verb) =>
  sql.raw(`create trigger audit_no_${verb} before ${verb} on audit
    begin select raise(abort, 'the audit log is append-only'); end`),
);

const appendOnlyPostgres = [
  sql`create function audit_refuse() returns trigger language plpgsql as
    $$ begin raise exception 'the audit log is append-only'; end $$`,
  sql`create trigger audit_append_only before update or delete or truncate on audit
    for each statement execute function audit_refuse()`,
];

/** Unlogged: no commit waits for a disk, and a crash only forgives what was spent. */
const limits = [
  sql`create unlogged table limits (key text primary key not null, whole_at bigint not null,
      at bigint not null, admitted int not null, interval_us bigint not null, burst int not null)
      with (fillfactor = 50)`,
];

/** As better-auth 1.7 lays them out, under names that are not ours for something else. */
function signIn(isPostgres: boolean) {
  const time = sql.raw(isPostgres ? "timestamptz" : "date");
  const bool = sql.raw(isPostgres ? "boolean" : "integer");
  return [
    sql`create table auth_users ("id" text primary key not null, "name" text not null,
        "email" text not null unique, "emailVerified" ${bool} not null, "image" text,
        "createdAt" ${time} not null, "updatedAt" ${time} not null)`,
    sql`create table auth_sessions ("id" text primary key not null, "expiresAt" ${time} not null,
        "token" text not null unique, "createdAt" ${time} not null, "updatedAt" ${time} not null,
        "ipAddress" text, "userAgent" text,
        "userId" text not null references auth_users ("id") on delete cascade)`,
    sql`create table auth_passwords ("id" text primary key not null, "accountId" text not null,
        "providerId" text not null, "userId" text not null references auth_users ("id")
        on delete cascade, "accessToken" text, "refreshToken" text, "idToken" text,
        "accessTokenExpiresAt" ${time}, "refreshTokenExpiresAt" ${time}, "scope" text,
        "password" text, "createdAt" ${time} not null, "updatedAt" ${time} not null)`,
    sql`create table auth_tokens ("id" text primary key not null, "identifier" text not null,
        "value" text not null, "expiresAt" ${time} not null, "createdAt" ${time} not null,
        "updatedAt" ${time} not null)`,
    sql`create index auth_sessions_user on auth_sessions ("userId")`,
    sql`create index auth_passwords_user on auth_passwords ("userId")`,
    sql`create index auth_tokens_identifier on auth_tokens ("identifier")`,
  ];
}
