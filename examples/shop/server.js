// npm start: runs the shop, with pages for customers and a path for the service's webhooks.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createClient } from "executable-address/client";
import { formatUnits } from "executable-address/payment";
import { InvalidError, WebhookError } from "executable-address-shop";
import { imports, readModule } from "./library.js";
import { openOrders } from "./orders.js";
import { orderPage, shopPage } from "./pages.js";
import { openPayments } from "./payments.js";
import { settings } from "./settings.js";

const bodyBytesMax = 64 * 1024;
const { baseUrl, apiKey, chainId } = settings;
const service = createClient({ baseUrl, apiKey });
const token = await findToken();
const ticket = { title: "A ticket", amount: String(25n * 10n ** BigInt(token.decimals)) };
const price = formatUnits(ticket.amount, token.decimals);

const orders = openOrders(settings.database);
const payments = openPayments({ orders, service, settings, ticket, token: token.address });

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    const status = error instanceof WebhookError ? 400 : 500;
    if (status === 500) console.error(error);
    response
      .writeHead(status, { "content-type": "text/plain" })
      .end("The request failed. Try again.\n");
  });
});
await payments.start();
server.listen(settings.port, "127.0.0.1", () => {
  console.log(`The shop is at http://127.0.0.1:${server.address().port}`);
});
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    server.close(async () => {
      await payments.stop();
      orders.close();
    });
    server.closeIdleConnections();
  });
}

async function answer(request, response) {
  const { pathname } = new URL(request.url, "http://shop");
  const requestLine = `${request.method} ${pathname}`;
  if (requestLine === "GET /") return start(response);
  if (requestLine === "POST /orders") return order(request, response);
  if (requestLine === "POST /webhooks") {
    // Responds only after the event is stored. Without a response, the service delivers the event
    // again.
    await payments.receive(await bodyOf(request), request.headers);
    return response.writeHead(204).end();
  }
  const [, id] = /^GET \/orders\/([0-9]{1,15})$/.exec(requestLine) ?? [];
  const found = id && orders.find(Number(id));
  if (found) {
    const order = { ...found, payment: payments.find(found.id) };
    return html(response, (nonce) => orderPage({ order, baseUrl, imports, nonce }));
  }
  const [, address] = /^GET \/tickets\/(0x[0-9a-fA-F]{40})$/.exec(requestLine) ?? [];
  if (address) return response.end(String(payments.ticketsOf(address)));
  return file(pathname, response);
}

async function order(request, response) {
  const refund = new URLSearchParams(await bodyOf(request)).get("refund") ?? "";
  try {
    const id = await payments.order(refund);
    response.writeHead(303, { location: `/orders/${id}` }).end();
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    const fault = error.issues.map(({ message }) => message).join("; ");
    start(response, fault, 400);
  }
}

function start(response, fault, status) {
  const shown = { ...ticket, price, token: token.symbol, fault, imports };
  html(response, (nonce) => shopPage({ ...shown, nonce }), status);
}

function html(response, page, status = 200) {
  const { origin } = new URL(baseUrl);
  const nonce = randomBytes(16).toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${origin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": policy.join("; "),
  });
  response.end(page(nonce));
}

const publicFiles = {
  "/order.js": "text/javascript",
  "/start.js": "text/javascript",
  "/shop.css": "text/css",
};

async function file(path, response) {
  const type = publicFiles[path];
  const found = type
    ? await readFile(new URL(`public${path}`, import.meta.url))
    : await readModule(path);
  if (!found) return response.writeHead(404, { "content-type": "text/plain" }).end("not here\n");
  const module = path.endsWith(".json") ? "application/json" : "text/javascript";
  // The browser loads each module of the library separately, and caches it for the next page.
  const headers = { "content-type": type ?? module, "cache-control": "max-age=60" };
  response.writeHead(200, headers).end(found);
}

async function bodyOf(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > bodyBytesMax) throw new WebhookError("too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

async function findToken() {
  const { chains } = await service.chains();
  const found = chains
    .find((chain) => chain.chainId === chainId)
    ?.tokens.find(({ symbol }) => symbol === settings.token);
  if (found) return found;
  console.error(`${baseUrl} lists no ${settings.token} on chain ${chainId}`);
  process.exit(1);
}
