// A shop's store in PostgreSQL. Any number of servers can store and process events. A server claims
// an address by inserting a row. Only one server at a time can therefore process events of the
// address. All times come from the database, because the clocks of the servers can differ.

import { addressKey, type ShopOrder, type ShopStore, type StoredEvent } from "./store.ts";

/**
 * The methods of a connection pool that the store uses. A `Pool` of `pg` has these methods. Every
 * query runs in its own transaction.
 */
export type PostgresPool = {
  // biome-ignore lint/suspicious/noExplicitAny: the query determines the columns of a row
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
};

/** Creates the tables. The lock prevents two servers from creating the tables simultaneously. */
const tables = `
  select pg_advisory_xact_lock(hashtext('shop_orders'));
  create table if not exists shop_orders (
    reference text primary key, address text not null unique, state text not null,
    body text not null, version integer not null);
  create index if not exists shop_orders_made on shop_orders (reference) where state = 'made';
  create table if not exists shop_events (
    id text primary key, position bigint generated always as identity, address text not null,
    body text, attempts integer not null, due_at bigint);
  create index if not exists shop_events_due on shop_events (due_at, position)
    where due_at is not null;
  create table if not exists shop_claims (
    address text primary key, id text not null, claim text not null, until bigint not null);
  create table if not exists shop_cursor (
    one integer primary key check (one = 1), cursor text not null);
`;

const addOrder = `insert into shop_orders (reference, address, state, body, version)
  values ($1, $2, $3, $4, $5::integer + 1) on conflict (reference) do nothing returning version`;

const saveOrder = `update shop_orders set address = $2, state = $3, body = $4, version = $5 + 1
  where reference = $1 and version = $5 returning version`;

const saveEvents = `
  with moved as (
    insert into shop_cursor select 1, $4::text where $4 is not null
    on conflict (one) do update set cursor = excluded.cursor)
  insert into shop_events (id, address, body, attempts, due_at)
  select id, address, body, 0, 0
  from unnest($1::text[], $2::text[], $3::text[]) with ordinality as e (id, address, body, nth)
  order by nth on conflict do nothing`;

/** Unix milliseconds when the statement started. */
const nowMs = "(extract(epoch from now()) * 1000)::bigint";

/**
 * Claims an event. If two servers try to claim events of the same address, only one can insert the
 * address's row. The event's row is locked. Otherwise, a server could claim an event that another
 * server has just completed.
 */
const claimEvent = `
  with due as (
    select address, id, body, attempts from shop_events e
    where due_at <= ${nowMs}
      and not exists (select from shop_claims c where c.address = e.address and c.until > ${nowMs})
    order by due_at, position limit 1 for update skip locked),
  claimed as (
    insert into shop_claims (address, id, claim, until)
    select address, id, $1, ${nowMs} + $2 from due
    on conflict (address) do update
      set id = excluded.id, claim = excluded.claim, until = excluded.until
      where shop_claims.until <= ${nowMs}
    returning address)
  select body, attempts, exists (select from claimed) as "isMine" from due`;

/** Ends a claim. Changes nothing if a later claim has replaced the claim. */
const settle = (fields: string) => `
  with settled as (delete from shop_claims where claim = $1 returning id)
  update shop_events set ${fields} where id in (select id from settled)`;

/** Opens a store in PostgreSQL. Creates the store's four tables if they are missing. */
export async function postgresStore(pool: PostgresPool): Promise<ShopStore> {
  await pool.query(tables);
  const orders = async (where: string, value: string): Promise<ShopOrder[]> => {
    const { rows } = await pool.query(`select body from shop_orders where ${where} = $1`, [value]);
    return rows.map(({ body }) => JSON.parse(body));
  };
  return {
    async saveOrder(order) {
      const { reference, record, state, version } = order;
      const next = { ...order, version: version + 1 };
      const row = [reference, addressKey(record.address), state, JSON.stringify(next), version];
      const { rows } = await pool.query(version === 0 ? addOrder : saveOrder, row);
      return rows.length > 0 ? next : undefined;
    },
    findByAddress: async (address) => (await orders("address", addressKey(address)))[0],
    findByReference: async (reference) => (await orders("reference", reference))[0],
    findMade: () => orders("state", "made"),
    async saveEvents(events, cursor = undefined) {
      await pool.query(saveEvents, [
        events.map(({ id }) => id),
        events.map(({ data }) => addressKey(data.address)),
        events.map((event) => JSON.stringify(event)),
        cursor ?? null,
      ]);
    },
    cursor: async () => (await pool.query("select cursor from shop_cursor")).rows[0]?.cursor,
    async claimEvent(forMs): Promise<StoredEvent | undefined> {
      const claim = crypto.randomUUID();
      for (;;) {
        const { rows } = await pool.query(claimEvent, [claim, forMs]);
        const [found] = rows;
        if (!found) return undefined;
        if (found.isMine) return { event: JSON.parse(found.body), attempts: found.attempts, claim };
      }
    },
    async delayEvent(claim, attempts, afterMs) {
      const fields = `attempts = $2, due_at = ${nowMs} + $3`;
      await pool.query(settle(fields), [claim, attempts, afterMs]);
    },
    async endEvent(claim) {
      await pool.query(settle("body = null, due_at = null"), [claim]);
    },
  };
}
