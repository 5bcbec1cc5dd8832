// Lists and ends the sessions of an account, and stores session tokens as digests. Each request
// reads its session from the database (sign-in.ts). An ended session therefore stops working
// immediately.

import type { getAdapter } from "better-auth/db/adapter";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { type Actor, appendAudit } from "../audit.ts";
import { digestCredential } from "../credentials.ts";

/** Times are in Unix milliseconds. `userAgent` is null if the browser did not send one. */
export type Session = {
  id: string;
  createdAtMs: number;
  /**
   * The time of the last renewal. The service renews a session about once a day while it is in use.
   */
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

/** Lists the account's newest open sessions, at most 100, newest first. */
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

/**
 * Ends a session.
 *
 * @returns false if the account has no such session
 */
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

type Adapter = Awaited<ReturnType<typeof getAdapter>>;
type Where = NonNullable<Parameters<Adapter["findMany"]>[0]["where"]>;

/**
 * Wraps better-auth's adapter, so that the database contains only digests of session tokens. A
 * session can be used only with its token. Therefore, a person who reads the database or a backup
 * cannot use the sessions. Signing the cookies would not help, because the database can also
 * contain the signing secret. The wrapper replaces the tokens in a query with their digests. In the
 * results, it replaces the digests with the tokens.
 */
export function storeDigests(adapter: Adapter): Adapter {
  return {
    ...adapter,
    transaction: (work) => adapter.transaction((inner) => work(storeDigests(inner as Adapter))),
    async create(call) {
      if (call.model !== "session") return adapter.create(call);
      const { token } = call.data as unknown as { token: string };
      const data = { ...call.data, token: storedToken(token) };
      const made: object = await adapter.create({ ...call, data });
      return { ...made, token } as never;
    },
    async findOne(call) {
      const { where, restore } = searchByDigest(call);
      return restore(await adapter.findOne({ ...call, where })) as never;
    },
    async findMany(call) {
      const { where, restore } = searchByDigest(call);
      return (await adapter.findMany({ ...call, where })).map(restore) as never;
    },
    async update(call) {
      const { where, restore } = searchByDigest(call);
      return restore(await adapter.update({ ...call, where })) as never;
    },
    updateMany: (call) => adapter.updateMany({ ...call, where: searchByDigest(call).where }),
    delete: (call) => adapter.delete({ ...call, where: searchByDigest(call).where }),
    deleteMany: (call) => adapter.deleteMany({ ...call, where: searchByDigest(call).where }),
  };
}

/** Returns the digest that `auth_sessions` contains for a token: 64 hex digits. */
const storedToken = (token: string) => digestCredential(`session ${token}`).toString("hex");

/**
 * Replaces the tokens in a query's conditions with their digests. Also returns a function that
 * restores the tokens in the results.
 */
function searchByDigest({ model, where = [] }: { model: string; where?: Where | undefined }) {
  const tokens = new Map<unknown, string>();
  const digestFor = (token: unknown) => {
    const digest = storedToken(String(token));
    tokens.set(digest, String(token));
    return digest;
  };
  const isToken = (field: string) => model === "session" && field === "token";
  const digests = where.map((each) => {
    if (!isToken(each.field)) return each;
    const { value } = each;
    return { ...each, value: Array.isArray(value) ? value.map(digestFor) : digestFor(value) };
  }) as Where;
  const restore = <Found>(found: Found): Found => {
    const token = tokens.get((found as { token?: unknown } | null)?.token);
    return token === undefined ? found : { ...found, token };
  };
  return { where: digests, restore };
}
