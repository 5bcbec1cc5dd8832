// What the service says of our addresses: by webhooks at once, and fetched in order from where we
// left off, so that nothing is missed while the shop is down. Both ways end in `take`.

import { checkWebhook, verifyWebhook } from "executable-address/webhook";

export function openEvents({ orders, service, settings }) {
  const { webhookSecrets, rpcUrl, reconcileMs } = settings;

  async function take(event) {
    const order = orders.findByAddress(event.data.address);
    // Of another program of the same account.
    if (!order) return;
    if (event.type === "address.executed") {
      // Money is what a node of ours says, too: neither a secret that leaked nor the service
      // itself can have goods sent.
      const record = await service.lookup(event.data.address);
      await checkWebhook(event, { record, rpc: rpcUrl });
    }
    if (orders.take(order, event)) console.log(`order ${order.id} is paid: its goods leave`);
    if (event.type === "address.reverted") {
      console.error(`order ${order.id}: the chain took back what it had said; look at it`);
    }
  }

  async function reconcile() {
    for (;;) {
      const { items, next, hasMore } = await service.events({ cursor: orders.cursor() });
      for (const event of items) await take(event);
      orders.moveCursor(next);
      if (!hasMore) return;
    }
  }

  let timer;
  let isStopped = false;
  const run = async () => {
    await reconcile().catch(({ message }) => console.error(`events: ${message}`));
    if (!isStopped) timer = setTimeout(run, reconcileMs);
  };

  return {
    /** @param body as it came @throws {WebhookError} where it is not the service's, or not true */
    async receive(body, headers) {
      await take(await verifyWebhook(body, headers, { secret: webhookSecrets }));
    },
    start: run,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
