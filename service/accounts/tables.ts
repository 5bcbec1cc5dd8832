// The tables for accounts, sign-in, usage, the audit log, and shared rate limits. Times are Unix
// milliseconds, except in the `auth_` tables. The library better-auth defines the columns of the
// `auth_` tables. Only files in sign-in/ use these tables.

import { type Generated, sql } from "kysely";
import type { Dialect, TableStatement } from "../store/tables.ts";

declare module "../store/tables.ts" {
  interface Tables {
    /** `id` is `acc_` and 24 hex digits. `email` is in lowercase. */
    accounts: { id: string; email: string; created_at: number };
    /**
     * `number` distinguishes the keys of an account. `digest` is the SHA-256 of the key. `prefix`
     * is the beginning of the key, for display. `scopes` is a list that is separated by commas.
     * `expires_at` is null if the key never expires.
     */
    api_keys: {
      account_id: string;
      number: number;
      name: string;
      scopes: string;
      expires_at: number | null;
      digest: Bytes;
      prefix: string;
      created_at: number;
      rotated_at: number | null;
      last_used_at: number | null;
      seen_in_browser_at: number | null;
    };
    /**
     * A client ID is public, so its full text is stored as `client_id`. If `bound` is 1, the
     * account's server must sign each intent. If `may_name` is 0, the client ID cannot set
     * references.
     */
    client_ids: {
      account_id: string;
      digest: Bytes;
      client_id: string;
      bound: number;
      may_name: Generated<number>;
      created_at: number;
      rotated_at: number | null;
      last_used_at: number | null;
    };
    /**
     * `key` is `svc_ref_` and 64 hex digits. New salts are derived with the account's key that has
     * the highest `number`.
     */
    reference_keys: { account_id: string; number: number; key: string; created_at: number };
    /** `origin` is in canonical form (origins.ts). */
    origins: { account_id: string; origin: string; created_at: number };
    /** The names that payers see, one per account. Only the operator sets them. */
    account_names: { account_id: string; name: string };
    /**
     * The number of created addresses and refused requests, for each account, hour, and kind of
     * credential. `hour` is the start of the hour.
     */
    usage: {
      account_id: string;
      hour: number;
      kind: "apiKey" | "clientId";
      created: number;
      refused: number;
    };
    /**
     * The audit log. Triggers reject updates and deletions of rows. `id` consists of `at` and 8
     * random hex digits.
     */
    audit: {
      id: string;
      account_id: string;
      at: number;
      event: string;
      ip: string | null;
      detail: string | null;
    };
    /**
     * The secret that signs cookies. The first server that needs the secret inserts the table's
     * only row. If `SESSION_SECRET` is set, the stored secret is not used.
     */
    secrets: { name: string; value: string };
    /**
     * The rate limits (limits.ts). The table of rate limits exists only on PostgreSQL. Times are in
     * microseconds.
     */
    limits: { key: string; whole_at: number; at: number; admitted: number };
    /** `id` is also the ID of the user's account. */
    auth_users: { id: string; email: string; name: string };
    auth_tokens: { id: string; identifier: string; value: string };
  }
}

export function statements(dialect: Dialect): TableStatement[] {
  const isPostgres = dialect === "postgres";
  const bytes = sql.raw(isPostgres ? "bytea" : "blob");
  return [
    sql`create table accounts (id text primary key not null, email text not null unique,
        created_at bigint not null)`,
    sql`create table api_keys (account_id text not null references accounts (id),
        number int not null, name text not null, scopes text not null, expires_at bigint,
        digest ${bytes} not null unique, prefix text not null, created_at bigint not null,
        rotated_at bigint, last_used_at bigint, seen_in_browser_at bigint,
        primary key (account_id, number))`,
    sql`create table client_ids (account_id text primary key not null references accounts (id),
        digest ${bytes} not null unique, client_id text not null, bound int not null,
        created_at bigint not null,
        rotated_at bigint, last_used_at bigint)`,
    sql`create table reference_keys (account_id text not null references accounts (id),
        number bigint not null, key text not null, created_at bigint not null,
        primary key (account_id, number))`,
    sql`create table origins (account_id text not null references accounts (id),
        origin text not null, created_at bigint not null, primary key (account_id, origin))`,
    sql`create table account_names (account_id text primary key not null references accounts (id),
        name text not null)`,
    sql`create table usage (account_id text not null, hour bigint not null, kind text not null,
        created bigint not null, refused bigint not null, primary key (account_id, hour, kind))`,
    sql`create table audit (id text primary key not null, account_id text not null,
        at bigint not null, event text not null, ip text, detail text)`,
    sql`create index audit_newest on audit (account_id, id)`,
    sql`create table secrets (name text primary key not null, value text not null)`,
    ...(isPostgres ? [...appendOnlyPostgres, ...limits] : appendOnlySqlite),
    ...signIn(isPostgres),
  ];
}

/** This migration adds a column that databases of earlier versions do not have. */
export const clientIdStatements = (): TableStatement[] => [
  sql`alter table client_ids add column may_name int not null default 1`,
];

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

/**
 * The table of rate limits is unlogged, so its writes do not wait for the disk. A crash of the
 * database resets all rate limits.
 */
const limits = [
  sql`create unlogged table limits (key text primary key not null, whole_at bigint not null,
      at bigint not null, admitted int not null, interval_us bigint not null, burst int not null)
      with (fillfactor = 50)`,
];

/** The tables of better-auth 1.7, which all have the prefix `auth_`. */
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
    sql`create index auth_sessions_user on auth_sessions ("userId", "createdAt")`,
    sql`create index auth_sessions_expiry on auth_sessions ("expiresAt")`,
    sql`create index auth_passwords_user on auth_passwords ("userId")`,
    sql`create index auth_tokens_identifier on auth_tokens ("identifier")`,
    sql`create index auth_tokens_expiry on auth_tokens ("expiresAt")`,
  ];
}
