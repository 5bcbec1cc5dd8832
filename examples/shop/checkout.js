// From an order to an address that pays for it. The intent, salt included, is kept before anything
// is sent: created again after a crash, it gives the same address.

import { drawSalt, parseIntent } from "executable-address";

/** @param terms of the shop: chain, token's address, wallet */
export function openCheckout({ orders, service, terms: { chainId, token, wallet } }) {
  async function create({ id, intent }) {
    const options = { reference: `order-${id}` };
    const { address } = await service.create(JSON.parse(intent), options);
    orders.open(id, address);
  }

  return {
    /**
     * @param refund where goes what is too much, too little or too late
     * @returns the number of the order
     * @throws {InvalidError} where `refund` is no address
     */
    async order({ title, amount, refund, seconds }) {
      const pay = "transfer(address to, uint256 amount)";
      const intent = parseIntent({
        ...{ chainId, token, amount },
        calls: [{ target: token, function: pay, args: [wallet, amount] }],
        expirationTimestamp: Math.floor(Date.now() / 1000) + seconds,
        recovery: refund,
        salt: drawSalt(),
      });
      const id = orders.add(title, intent);
      await create(orders.find(id));
      return id;
    },
    /** Goes on with what was stopped in the middle; an order that expired meanwhile is left. */
    async resume() {
      const now = Date.now() / 1000;
      for (const order of orders.unfinished()) {
        if (JSON.parse(order.intent).expirationTimestamp < now) continue;
        await create(order).catch(({ message }) => console.error(`order ${order.id}: ${message}`));
      }
    },
  };
}
