// A shop's store in SQLite: `new DatabaseSync(file)` of Node, or `new Database(file)` of
// better-sqlite3 or Bun. The database can also contain the shop's own tables. Claims of events
// exist only in memory, so only one server can use the database. A crash ends all claims.

import { addressKey, type ShopOrder, type ShopStore } from "./store.ts";

/**
 * The database methods that the store uses. The databases of Node, better-sqlite3, and Bun have
 * these methods.
 */
export type SqliteDatabase = {
  exec(sql: string): unknown;
  prepare(sql: string): {
    run(...values: (string | number)[]): unknown;
    get(...values: (string | number)[]): unknown;
    all(...values: (string | number)[]): unknown[];
  };
};

const tables = `
  create table if not exists shop_orders (
    reference text primary key, address text not null unique, state text not null,
    body text not null, version integer not null) strict;
  create table if not exists shop_events (
    id text primary key not null, address text not null, body text, attempts integer not null,
    due_at integer) strict;
  create index if not exists shop_events_due on shop_events (due_at) where due_at is not null;
  create table if not exists shop_cursor (
    one integer primary key check (one = 1), cursor text not null) strict;
`;

/**
 * Opens a store in SQLite. Creates the three tables if they are missing, and makes each commit
 * durable.
 */
export function sqliteStore(db: SqliteDatabase): ShopStore {
  db.exec("pragma journal_mode = wal; pragma synchronous = full;");
  db.exec(tables);
  const statement = prepareIn(db);
  /**
   * The claims by address. `id` is the event's ID, and `claim` is the claim's ID. The claim ends at
   * `untilMs`.
   */
  const claims = new Map<string, { id: string; claim: string; untilMs: number }>();
  /** @returns the ID of the claim's event, or undefined if a later claim replaced the claim */
  const unclaim = (claim: string): string | undefined => {
    for (const [address, held] of claims) {
      if (held.claim !== claim) continue;
      claims.delete(address);
      return held.id;
    }
    return undefined;
  };
  return {
    saveOrder(order) {
      const next = { ...order, version: order.version + 1 };
      const { reference, record, state, version } = next;
      const row = [addressKey(record.address), state, JSON.stringify(next), version, reference];
      const isNew = order.version === 0;
      const saved = isNew ? statement.add.get(...row) : statement.save.get(...row, order.version);
      return saved ? next : undefined;
    },
    findByAddress: (address) => readOrder(statement.byAddress.get(addressKey(address))),
    findByReference: (reference) => readOrder(statement.byReference.get(reference)),
    findMade: () => statement.byState.all("made").flatMap((row) => readOrder(row) ?? []),
    saveEvents(events, cursor) {
      db.exec("begin immediate");
      try {
        for (const event of events) {
          const address = addressKey(event.data.address);
          statement.addEvent.run(event.id, address, JSON.stringify(event));
        }
        if (cursor !== undefined) statement.move.run(cursor);
        db.exec("commit");
      } catch (error) {
        db.exec("rollback");
        throw error;
      }
    },
    cursor: () => (statement.cursor.get() as { cursor: string } | undefined)?.cursor,
    claimEvent(forMs) {
      const nowMs = Date.now();
      const claimed = [...claims].filter(([, claim]) => claim.untilMs > nowMs);
      const row = statement.due.get(nowMs, JSON.stringify(claimed.map(([address]) => address)));
      if (!row) return undefined;
      const { id, address, body, attempts } = row as EventRow;
      const claim = crypto.randomUUID();
      claims.set(address, { id, claim, untilMs: nowMs + forMs });
      return { event: JSON.parse(body), attempts, claim };
    },
    delayEvent(claim, attempts, afterMs) {
      const id = unclaim(claim);
      if (id !== undefined) statement.delay.run(attempts, Date.now() + afterMs, id);
    },
    endEvent(claim) {
      const id = unclaim(claim);
      if (id !== undefined) statement.end.run(id);
    },
  };
}

/** Prepares all statements. */
function prepareIn(db: SqliteDatabase) {
  const orderBy = (field: string) => db.prepare(`select body from shop_orders where ${field} = ?`);
  return {
    add: db.prepare(`insert into shop_orders (address, state, body, version, reference)
      values (?, ?, ?, ?, ?) on conflict (reference) do nothing returning version`),
    save: db.prepare(`update shop_orders set address = ?, state = ?, body = ?, version = ?
      where reference = ? and version = ? returning version`),
    byAddress: orderBy("address"),
    byReference: orderBy("reference"),
    byState: orderBy("state"),
    addEvent: db.prepare("insert into shop_events values (?, ?, ?, 0, 0) on conflict do nothing"),
    due: db.prepare(`select id, address, body, attempts from shop_events
      where due_at <= ? and address not in (select value from json_each(?))
      order by due_at, rowid limit 1`),
    delay: db.prepare("update shop_events set attempts = ?, due_at = ? where id = ?"),
    end: db.prepare("update shop_events set body = null, due_at = null where id = ?"),
    cursor: db.prepare("select cursor from shop_cursor"),
    move: db.prepare("insert or replace into shop_cursor values (1, ?)"),
  };
}

type EventRow = { id: string; address: string; body: string; attempts: number };

function readOrder(row: unknown): ShopOrder | undefined {
  const found = row as { body: string } | null | undefined;
  return found ? (JSON.parse(found.body) as ShopOrder) : undefined;
}
