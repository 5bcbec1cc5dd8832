// The orders, in SQLite. What an event does to an order, and that it was seen, is one transaction;
// goods have the order's number as their key, so that no order has them twice.

import { DatabaseSync } from "node:sqlite";

/** @param file of the database, made where there is none */
export function openOrders(file) {
  const db = new DatabaseSync(file);
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    create table if not exists orders (
      id integer primary key, title text not null, intent text not null, address text unique,
      state text not null, returned text not null) strict;
    create table if not exists goods (
      order_id integer primary key references orders (id), sent_at text not null,
      transaction_hash text not null) strict;
    create table if not exists seen (id text primary key) strict;
    create table if not exists cursors (name text primary key, cursor text not null) strict;
  `);
  const statement = {
    add: db.prepare(`insert into orders (title, intent, state, returned)
      values (?, ?, 'new', '0')`),
    open: db.prepare(
      "update orders set address = ?, state = 'open' where id = ? and state = 'new'",
    ),
    find: db.prepare(`select orders.*, goods.sent_at, goods.transaction_hash
      from orders left join goods on goods.order_id = orders.id where orders.id = ?`),
    findByAddress: db.prepare("select * from orders where address = ?"),
    unfinished: db.prepare("select * from orders where state = 'new'"),
    see: db.prepare("insert or ignore into seen (id) values (?)"),
    change: db.prepare("update orders set state = ?, returned = ? where id = ?"),
    send: db.prepare("insert or ignore into goods values (?, ?, ?)"),
    cursor: db.prepare("select cursor from cursors where name = 'events'"),
    moveCursor: db.prepare("insert or replace into cursors values ('events', ?)"),
  };

  function transaction(work) {
    db.exec("begin immediate");
    try {
      const done = work();
      db.exec("commit");
      return done;
    } catch (error) {
      db.exec("rollback");
      throw error;
    }
  }

  return {
    /** Before the address is made: whatever happens then, the order is there to go on with. */
    add: (title, intent) =>
      Number(statement.add.run(title, JSON.stringify(intent)).lastInsertRowid),
    open: (id, address) => statement.open.run(address, id),
    find: (id) => statement.find.get(id),
    findByAddress: (address) => statement.findByAddress.get(address),
    /** Those whose address was not made, since the shop or the service stopped in between. */
    unfinished: () => statement.unfinished.all(),
    cursor: () => statement.cursor.get()?.cursor ?? "0",
    moveCursor: (cursor) => statement.moveCursor.run(cursor),

    /**
     * What a fact does to its order, once for an event: repeats change nothing.
     * @returns whether this put in the goods: their table is what the warehouse reads
     */
    take(order, eventId, fact) {
      return transaction(() => {
        if (statement.see.run(eventId).changes === 0) return false;
        const { state, returned } = afterFact(order, fact);
        statement.change.run(state, returned, order.id);
        if (fact.fact !== "executed") return false;
        const sentAt = new Date().toISOString();
        return statement.send.run(order.id, sentAt, fact.transactionHash).changes > 0;
      });
    },
    close: () => db.close(),
  };
}

/** What the customer is shown of an order. */
function afterFact({ state, returned, intent }, { fact, recoveries = [], state: now }) {
  const { token } = JSON.parse(intent);
  const sum = recoveries
    .filter((each) => each.token === token)
    .reduce((all, { amount }) => all + BigInt(amount), BigInt(returned));
  const states = {
    funded: "funded",
    executed: "executed",
    expired: "expired",
    recovered: state === "executed" ? "executed" : "recovered",
    reverted: now,
  };
  return { state: states[fact] ?? state, returned: String(sum) };
}
