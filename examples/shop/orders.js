// The shop's tables: the orders and the sent tickets. The kit's tables are in the same database.

import { DatabaseSync } from "node:sqlite";

/** @param file the path of the database, which is created if it is missing */
export function openOrders(file) {
  const db = new DatabaseSync(file);
  db.exec(`
    create table if not exists orders (id integer primary key, title text not null) strict;
    create table if not exists tickets (
      order_id integer primary key references orders (id), sent_at text not null,
      transaction_hash text not null) strict;
  `);
  const statement = {
    add: db.prepare("insert into orders (title) values (?)"),
    addAgain: db.prepare("insert or ignore into orders (id, title) values (?, ?)"),
    find: db.prepare(`select orders.*, tickets.sent_at
      from orders left join tickets on tickets.order_id = orders.id where orders.id = ?`),
    send: db.prepare("insert or ignore into tickets values (?, ?, ?)"),
    count: db.prepare("select count(*) as count from tickets where order_id = ?"),
  };
  return {
    db,
    add: (title) => Number(statement.add.run(title).lastInsertRowid),
    /** Adds an order that this database has lost and that was restored from the service. */
    addAgain: (id, title) => statement.addAgain.run(id, title),
    find: (id) => statement.find.get(id),
    /**
     * Sends the ticket of an order. The order number is the primary key, so a second call for an
     * order sends nothing.
     */
    sendTicket(id, transactionHash) {
      const sentAt = new Date().toISOString();
      return statement.send.run(id, sentAt, transactionHash).changes > 0;
    },
    ticketsOf: (id) => statement.count.get(id).count,
    close: () => db.close(),
  };
}
