// Counts the uses of each account's credentials, and records when each credential was last used.
// Writes the counts only once per second, so that no request waits for a write. A crash loses the
// counts since the last write. A normal shutdown loses nothing.

import { type Kysely, sql } from "kysely";
import { hourMs } from "../flow/days.ts";
import { groupsOf } from "../flow/groups.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";
import type { CredentialKind } from "./credentials.ts";

const flushMs = 1_000;
/**
 * The maximum number of keys that `seenInBrowser` collects between two flushes. Without this limit,
 * anyone could use up the server's memory by sending invented keys.
 */
const inBrowserMax = 10_000;

/** One use of a credential. `digest` is the SHA-256 of the credential's text, 32 bytes. */
type Use = { accountId: string; kind: CredentialKind; digest: Buffer; atMs: number };

export type Usage = {
  /**
   * Records a use of a credential. The outcomes `created` and `refused` are counted per hour.
   * `used` means that the request was successful but created no address. For `used`, the service
   * records only the time.
   */
  count(use: Use, outcome: "created" | "refused" | "used"): void;
  /**
   * Records that a browser sent an API key. A key in a web page is no longer secret. A request is
   * from a browser if it has an `Origin` header. The key may be unknown; an unknown key is ignored.
   */
  seenInBrowser(digest: Buffer, atMs: number): void;
  /** Writes the collected counts. If the write fails, the next flush writes them again. */
  flush(): Promise<void>;
  /** Stops the timer, and writes the remaining counts. */
  close(): Promise<void>;
};

type Hour = { accountId: string; hour: number; kind: CredentialKind } & Counts;
type Counts = { created: number; refused: number };
type Seen = { digest: Buffer; atMs: number };

type Batch = {
  hours: Map<string, Hour>;
  lastUsed: Record<CredentialKind, Map<string, Seen>>;
  inBrowser: Map<string, Seen>;
};

const emptyBatch = (): Batch => ({
  hours: new Map(),
  lastUsed: { apiKey: new Map(), clientId: new Map() },
  inBrowser: new Map(),
});

/** @param onFault called for each failed flush */
export function countUsage(db: Kysely<Tables>, onFault: (error: unknown) => void): Usage {
  let batch = emptyBatch();
  let flushing = Promise.resolve();

  const flushOnce = async () => {
    const full = batch;
    batch = emptyBatch();
    try {
      await write(db, full);
    } catch (error) {
      merge(batch, full);
      onFault(error);
    }
  };
  const flush = () => {
    flushing = flushing.then(flushOnce);
    return flushing;
  };
  const timer = setInterval(flush, flushMs).unref();

  return {
    count({ accountId, kind, digest, atMs }, outcome) {
      if (outcome !== "used") {
        const counts = { created: 0, refused: 0 };
        counts[outcome] = 1;
        addHour(batch, { accountId, hour: atMs - (atMs % hourMs), kind, ...counts });
      }
      keepLatest(batch.lastUsed[kind], { digest, atMs });
    },
    seenInBrowser(digest, atMs) {
      if (batch.inBrowser.size < inBrowserMax) keepLatest(batch.inBrowser, { digest, atMs });
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

function addHour(batch: Batch, hour: Hour): void {
  const key = `${hour.accountId} ${hour.hour} ${hour.kind}`;
  const known = batch.hours.get(key);
  if (!known) return void batch.hours.set(key, hour);
  known.created += hour.created;
  known.refused += hour.refused;
}

function keepLatest(map: Map<string, Seen>, seen: Seen): void {
  const key = seen.digest.toString("latin1");
  const known = map.get(key);
  if (!known || known.atMs < seen.atMs) map.set(key, seen);
}

function merge(into: Batch, from: Batch): void {
  for (const hour of from.hours.values()) addHour(into, hour);
  for (const seen of from.lastUsed.apiKey.values()) keepLatest(into.lastUsed.apiKey, seen);
  for (const seen of from.lastUsed.clientId.values()) keepLatest(into.lastUsed.clientId, seen);
  for (const seen of from.inBrowser.values()) keepLatest(into.inBrowser, seen);
}

/**
 * Writes a batch in one transaction. Rows are written in the order of their keys, so that two
 * servers cannot deadlock.
 */
async function write(db: Kysely<Tables>, batch: Batch): Promise<void> {
  const { hours, lastUsed, inBrowser } = batch;
  if (hours.size + lastUsed.apiKey.size + lastUsed.clientId.size + inBrowser.size === 0) return;
  await db.transaction().execute(async (transaction) => {
    await writeHours(transaction, inOrder(hours));
    await touch(transaction, "api_keys", "last_used_at", inOrder(lastUsed.apiKey));
    await touch(transaction, "client_ids", "last_used_at", inOrder(lastUsed.clientId));
    await touch(transaction, "api_keys", "seen_in_browser_at", inOrder(inBrowser));
  });
}

const inOrder = <Value>(map: Map<string, Value>): Value[] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);

async function writeHours(db: Kysely<Tables>, hours: Hour[]): Promise<void> {
  for (const some of groupsOf(hours, statementRows.short)) {
    const rows = some.map(({ accountId, ...row }) => ({ account_id: accountId, ...row }));
    await db
      .insertInto("usage")
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(["account_id", "hour", "kind"]).doUpdateSet((eb) => ({
          created: eb("usage.created", "+", eb.ref("excluded.created")),
          refused: eb("usage.refused", "+", eb.ref("excluded.refused")),
        })),
      )
      .execute();
  }
}

type TimeColumn<Table extends keyof Tables> = Table extends "api_keys"
  ? "last_used_at" | "seen_in_browser_at"
  : "last_used_at";

/**
 * Updates `column` of each credential in `seen`. Each statement updates a group of up to 100
 * credentials, and writes the latest time of the group to every credential. Therefore, the stored
 * time of a credential can be later than its actual use. The difference is at most the time since
 * the last successful flush, usually one second.
 */
async function touch<Table extends "api_keys" | "client_ids">(
  db: Kysely<Tables>,
  table: Table,
  column: TimeColumn<Table>,
  seen: Seen[],
): Promise<void> {
  for (const some of groupsOf(seen, statementRows.short)) {
    const latest = Math.max(...some.map(({ atMs }) => atMs));
    const digests = some.map(({ digest }) => sql`${digest}`);
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${latest}
      where digest in (${sql.join(digests)})
        and (${sql.ref(column)} is null or ${sql.ref(column)} < ${latest})`.execute(db);
  }
}

/** Returns the hours since `sinceMs` with at least one counted use, oldest first. */
export async function listUsage(
  db: Kysely<Tables>,
  accountId: string,
  sinceMs: number,
): Promise<{ hourMs: number; apiKey: Counts; clientId: Counts }[]> {
  const rows = await db
    .selectFrom("usage")
    .select(["hour", "kind", "created", "refused"])
    .where("account_id", "=", accountId)
    .where("hour", ">", sinceMs - hourMs)
    .orderBy("hour")
    .execute();
  const byHour = new Map<number, { hourMs: number; apiKey: Counts; clientId: Counts }>();
  for (const { hour, kind, created, refused } of rows) {
    const none = () => ({ created: 0, refused: 0 });
    const entry = byHour.get(hour) ?? { hourMs: hour, apiKey: none(), clientId: none() };
    entry[kind] = { created, refused };
    byHour.set(hour, entry);
  }
  return [...byHour.values()];
}
