// A shop's page: creates an address for an order with a client ID, and lets the customer pay it on
// this page. Served with the settings below as /settings.json, from an origin that the account
// allows.
//
//   { "baseUrl": "https://pay.example/v1", "clientId": "svc_client_…", "chainId": 8453,
//     "token": "0x…", "shop": "0x…" }

import { createClient } from "executable-address/client";
import "executable-address-element";

const { baseUrl, clientId, chainId, token, shop } = await (await fetch("/settings.json")).json();
const service = createClient({ baseUrl, clientId });
const amount = "25000000";

const record = await service.create({
  chainId,
  token,
  amount,
  calls: [
    { target: token, function: "approve(address spender, uint256 amount)", args: [shop, amount] },
    { target: shop, function: "pay(uint256 orderId, uint256 amount)", args: ["42", amount] },
  ],
  expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
  recovery: shop,
});

const payment = document.createElement("executable-address");
payment.setAttribute("address", record.address);
payment.setAttribute("base-url", baseUrl);

// Anyone can forge what a page receives. Deliver only after your server has proved the payment.
const outcome = document.querySelector("#outcome");
payment.addEventListener("paid", () => {
  outcome.textContent = "Paid. Your order is being confirmed by the chain.";
});
payment.addEventListener("executed", ({ detail }) => {
  outcome.textContent = `Done: transaction ${detail.status.execution.transactionHash}`;
});
payment.addEventListener("expired", () => {
  outcome.textContent = "This order has expired. Please order again.";
});
document.querySelector("#payment").append(payment);
