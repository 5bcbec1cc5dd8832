// An order's page: the element shows the payment; when it is done, the shop says what it knows.

import "executable-address-element";

const payment = document.querySelector("executable-address");
const state = document.querySelector("#state");

payment?.addEventListener("paid", () => {
  state.textContent = "Paid. Your order is on its way through the chain.";
});
payment?.addEventListener("executed", waitForGoods);
payment?.addEventListener("expired", () => {
  state.textContent = "This order has expired. What you pay now goes back to you.";
});

/** The ticket is the shop's word, not the element's: its server has to have seen the payment. */
async function waitForGoods() {
  for (;;) {
    const answer = await fetch(location.pathname).catch(() => undefined);
    if (answer?.ok && (await answer.text()).includes('id="goods"')) return location.reload();
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
