// Opens a shop with the library executable-address-shop. The functions of this shop send tickets
// and record refunds.

import { parseAddress } from "executable-address";
import { openShop, sqliteStore } from "executable-address-shop";

const referenceOf = (id) => `order-${id}`;
const idOf = (reference) => Number(/^order-([1-9][0-9]{0,14})$/.exec(reference)?.[1] ?? 0);

/** @param ticket the product: its title, and its price in base units of `token` */
export function openPayments({ orders, service, settings, ticket, token }) {
  const { chainId, wallet, orderSeconds } = settings;
  const { webhookSecrets: secrets, rpcs, confirmations, reconcileMs, referenceKeys } = settings;
  const store = sqliteStore(orders.db);
  const shop = openShop({
    ...{ store, service, secrets, referenceKeys, rpcs, confirmations, reconcileMs },
    isOurs: (reference) => idOf(reference) > 0,
    // The database has lost the order, but the reference contains its number.
    onRestored: ({ reference }) => orders.addAgain(idOf(reference), ticket.title),
    deliver({ reference }, { transactionHash }) {
      const id = idOf(reference);
      orders.addAgain(id, ticket.title);
      if (orders.sendTicket(id, transactionHash)) console.log(`order ${id} is paid`);
    },
    refund({ reference }, { recoveries }) {
      for (const { amount } of recoveries) console.log(`${reference}: ${amount} was returned`);
    },
  });

  return {
    receive: shop.receive,
    stop: shop.stop,
    /**
     * @param refund the address to which excess, partial, and late payments are returned
     * @returns the number of the order
     * @throws {InvalidError} if `refund` is not an address
     */
    async order(refund) {
      const recovery = parseAddress(refund);
      const id = orders.add(ticket.title);
      const pay = "transfer(address to, uint256 amount)";
      await shop.order(referenceOf(id), {
        ...{ chainId, token, amount: ticket.amount, recovery },
        calls: [{ target: token, function: pay, args: [wallet, ticket.amount] }],
        expirationTimestamp: Math.floor(Date.now() / 1000) + orderSeconds,
      });
      return id;
    },
    /** Returns the payment of an order, or undefined if the order has no address yet. */
    find: (id) => store.findByReference(referenceOf(id)),
    /** Returns the number of tickets sent for the order that is paid at `address`. */
    ticketsOf: (address) => orders.ticketsOf(idOf(store.findByAddress(address)?.reference ?? "")),
    start: shop.start,
  };
}
