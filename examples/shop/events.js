// What the service says of our addresses: by webhooks at once, and fetched in order from where we
// left off, so that nothing is missed while the shop is down. Both ways end in `take`.

import { proveEvent, verifyWebhook, WebhookError } from "executable-address/webhook";

export function openEvents({ orders, service, settings }) {
  const { webhookSecrets, rpcs, confirmations, reconcileMs } = settings;

  async function take(event) {
    const order = orders.findByAddress(event.data.address);
    // Of another program of the same account.
    if (!order) return;
    // What is so is what our nodes prove: neither a secret that leaked nor the service itself can
    // have goods sent.
    const fact = await proveEvent(event, service, { rpcs, confirmations });
    if (fact.fact === "notYet") throw new Error(`order ${order.id}: not deep enough yet`);
    if (orders.take(order, event.id, fact))
      console.log(`order ${order.id} is paid: its goods leave`);
    if (fact.fact === "reverted") {
      console.error(`order ${order.id}: the chain took back what it had said; look at it`);
    }
  }

  /** An event that is not true is told and passed by: it must not hold up those behind it. */
  async function takeFetched(event) {
    try {
      await take(event);
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      console.error(`events: ${event.id} is refused: ${error.message}`);
    }
  }

  async function reconcile() {
    for (;;) {
      const { items, next, hasMore } = await service.events({ cursor: orders.cursor() });
      for (const event of items) await takeFetched(event);
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
