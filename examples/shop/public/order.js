// The script of an order's page. The element shows the payment, and then the page shows the order's
// state.

import "executable-address-element";

const payment = document.querySelector("executable-address");
const state = document.querySelector("#state");

payment?.addEventListener("paid", () => {
  state.textContent = "Paid. Your order is being confirmed by the chain.";
});
payment?.addEventListener("executed", waitForGoods);
payment?.addEventListener("expired", () => {
  state.textContent = "This order has expired. If you pay now, the money will be returned.";
});

/**
 * Waits until the shop's server reports that the ticket was sent. The element's events are not
 * sufficient, because the server must verify the payment.
 */
async function waitForGoods() {
  for (;;) {
    const answer = await fetch(location.pathname).catch(() => undefined);
    if (answer?.ok && (await answer.text()).includes('id="goods"')) return location.reload();
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
