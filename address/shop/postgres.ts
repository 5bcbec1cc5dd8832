// A shop's memory in PostgreSQL: any number of servers may keep events in it and work them off. An
// address is claimed by a row, so that of its events one is worked on at a time, by one server.

import { addressKey, type KeptEvent, type ShopOrder, type ShopStore } from "./store.ts";

/** The part of a pool that is used; `new Pool(…)` of `pg` has it. Each query is a transaction. */
export type PostgresPool = {
  // biome-ignore lint/suspicious/noExplicitAny: what a row has is what the query asks for
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
};

/** The lock lets two servers that start at once make the tables one after the other. */
const tables = `
  select pg_advisory_xact_lock(hashtext('shop_orders'));
  create table if not exists shop_orders (
    reference text primary key, address text not null unique, state text not null,
    body text not null);
  create index if not exists shop_orders_made on shop_orders (reference) where state = 'made';
  create table if not exists shop_events (
    id text primary key, position bigint generated always as identity, address text not null,
    body text, attempts integer not null, due_at bigint);
  create index if not exists shop_events_due on shop_events (due_at, position)
    where due_at is not null;
  create table if not exists shop_claims (
    address text primary key, id text not null, until bigint not null);
  create table if not exists shop_cursor (
    one integer primary key check (one = 1), cursor text not null);
`;

const saveOrder = `insert into shop_orders values ($1, $2, $3, $4) on conflict (reference)
  do update set address = excluded.address, state = excluded.state, body = excluded.body`;

const keepEvents = `
  with moved as (
    insert into shop_cursor select 1, $4::text where $4 is not null
    on conflict (one) do update set cursor = excluded.cursor)
  insert into shop_events (id, address, body, attempts, due_at)
  select id, address, body, 0, 0
  from unnest($1::text[], $2::text[], $3::text[]) with ordinality as e (id, address, body, nth)
  order by nth on conflict do nothing`;

/** Two servers may find the same event; the row of the claim is given to one of them. */
const claimEvent = `
  with due as (
    select address, id, body, attempts from shop_events e
    where due_at <= $1
      and not exists (select from shop_claims c where c.address = e.address and c.until > $1)
    order by due_at, position limit 1),
  claimed as (
    insert into shop_claims select address, id, $2 from due
    on conflict (address) do update set id = excluded.id, until = excluded.until
      where shop_claims.until <= $1
    returning address)
  select body, attempts, exists (select from claimed) as "isMine" from due`;

const settle = (fields: string) => `
  with settled as (update shop_events set ${fields} where id = $1 returning address)
  delete from shop_claims where id = $1 and address in (select address from settled)`;

/** Makes its four tables where they are not there. */
export async function postgresStore(pool: PostgresPool): Promise<ShopStore> {
  await pool.query(tables);
  const orders = async (where: string, value: string): Promise<ShopOrder[]> => {
    const { rows } = await pool.query(`select body from shop_orders where ${where} = $1`, [value]);
    return rows.map(({ body }) => JSON.parse(body));
  };
  return {
    async saveOrder(order) {
      const { reference, record, state } = order;
      const address = addressKey(record.address);
      await pool.query(saveOrder, [reference, address, state, JSON.stringify(order)]);
    },
    findByAddress: async (address) => (await orders("address", addressKey(address)))[0],
    findByReference: async (reference) => (await orders("reference", reference))[0],
    findMade: () => orders("state", "made"),
    async keepEvents(events, cursor = undefined) {
      await pool.query(keepEvents, [
        events.map(({ id }) => id),
        events.map(({ data }) => addressKey(data.address)),
        events.map((event) => JSON.stringify(event)),
        cursor ?? null,
      ]);
    },
    cursor: async () => (await pool.query("select cursor from shop_cursor")).rows[0]?.cursor,
    async claimEvent(nowMs, untilMs): Promise<KeptEvent | undefined> {
      for (;;) {
        const { rows } = await pool.query(claimEvent, [nowMs, untilMs]);
        const [found] = rows;
        if (!found) return undefined;
        if (found.isMine) return { event: JSON.parse(found.body), attempts: found.attempts };
      }
    },
    async delayEvent(id, attempts, dueAtMs) {
      await pool.query(settle("attempts = $2, due_at = $3"), [id, attempts, dueAtMs]);
    },
    async endEvent(id) {
      await pool.query(settle("body = null, due_at = null"), [id]);
    },
  };
}
