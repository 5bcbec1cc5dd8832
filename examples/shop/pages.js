// The shop's pages. Escapes all external text.

const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text) => String(text).replace(/[&<>"']/g, (character) => entities[character]);

const page = (title, body, head = "") => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escaped(title)}</title>
    <link rel="stylesheet" href="/shop.css" />
    ${head}
  </head>
  <body>
    <main>${body}</main>
  </body>
</html>
`;

/** The scripts of a page: the import map, which locates the library, and the page's own script. */
const program = (path, imports, nonce) =>
  `<script type="importmap" nonce="${nonce}">${JSON.stringify({ imports })}</script>
    <script type="module" src="${path}"></script>`;

/** @param price in whole tokens, as shown to people */
export const shopPage = ({ title, price, token, fault, imports, nonce }) =>
  page(
    "Ticket shop",
    `<h1>${escaped(title)}</h1>
    <p>${escaped(price)} ${escaped(token)}</p>
    ${fault ? `<p role="alert">${escaped(fault)}</p>` : ""}
    <form method="post" action="/orders">
      <label for="refund">Your address, for excess or late payments</label>
      <input id="refund" name="refund" required pattern="0x[0-9a-fA-F]{40}" size="44" />
      <executable-recovery for="refund"></executable-recovery>
      <button>Order</button>
    </form>`,
    program("/start.js", imports, nonce),
  );

const states = {
  made: "Your address is being created. Reload this page in a moment.",
  open: "Waiting for your payment.",
  funded: "Paid. Your order is being confirmed by the chain.",
  executed: "Paid.",
  expired: "This order has expired. Your payment will be returned.",
  recovered: "This order has expired, and your payment was returned.",
};

const element = (address, baseUrl) =>
  `<executable-address address="${address}" base-url="${escaped(baseUrl)}"></executable-address>`;

/** @param imports the page's import map, which locates the library */
export function orderPage({ order, baseUrl, imports, nonce }) {
  const { id, title, sent_at, payment } = order;
  const state = payment?.state ?? "made";
  const returned = Object.values(payment?.returned ?? {}).reduce((sum, n) => sum + BigInt(n), 0n);
  const lines = [
    `<h1>Order ${id}</h1>`,
    `<p>${escaped(title)}</p>`,
    `<p id="state" role="status">${escaped(states[state])}</p>`,
    sent_at ? `<p id="goods">Your ticket: ${escaped(`${id}-${sent_at}`)}</p>` : "",
    returned === 0n ? "" : `<p id="returned">Sent back to you: ${returned} base units</p>`,
    state !== "made" && !sent_at ? element(payment.record.address, baseUrl) : "",
  ];
  return page(`Order ${id}`, lines.join("\n    "), program("/order.js", imports, nonce));
}
