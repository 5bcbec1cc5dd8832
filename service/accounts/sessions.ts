// Lists the sessions of an account and ends single ones. Each request reads its session from the
// store (sign-in.ts), so an ended session is ended on every server at once.

import { type Kysely, sql } from "kysely";
import type { Tables } from "../store/tables.ts";
import { type Actor, appendAudit } from "./audit.ts";

/** Times in Unix milliseconds; `userAgent` as the browser called itself, if it did. */
export type Session = {
  id: string;
  createdAtMs: number;
  /** Renewed by use, about once a day. */
  renewedAtMs: number;
  expiresAtMs: number;
  userAgent: string | null;
};

const sessionsMax = 100;

type Time = string | number | Date;
type SessionRow = {
  id: string;
  created: Time;
  renewed: Time;
  expires: Time;
  userAgent: string | null;
};

/** The open sessions, newest first; at most 100. */
export async function listSessions(
  db: Kysely<Tables>,
  accountId: string,
  nowMs: number,
): Promise<Session[]> {
  const { rows } = await sql<SessionRow>`
    select "id", "createdAt" as created, "updatedAt" as renewed, "expiresAt" as expires,
      "userAgent" as "userAgent"
    from auth_sessions where "userId" = ${accountId}
    order by "createdAt" desc limit ${sessionsMax}`.execute(db);
  const atMs = (time: Time) => new Date(time).getTime();
  return rows
    .map(({ id, created, renewed, expires, userAgent }) => ({
      id,
      createdAtMs: atMs(created),
      renewedAtMs: atMs(renewed),
      expiresAtMs: atMs(expires),
      userAgent: userAgent || null,
    }))
    .filter(({ expiresAtMs }) => expiresAtMs > nowMs);
}

/** @returns whether the account had such a session */
export async function endSession(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const { numAffectedRows } = await sql`
      delete from auth_sessions where "id" = ${id} and "userId" = ${accountId}`.execute(
      transaction,
    );
    if (!numAffectedRows) return false;
    await appendAudit(transaction, accountId, "session_ended", actor);
    return true;
  });
}
