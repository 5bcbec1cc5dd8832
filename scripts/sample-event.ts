// `npm run pay -- --event`: pays for a sample order on the local chain and shows the signed webhook
// event that a shop's server receives.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Hex } from "executable-address";
import { createClient } from "executable-address/client";
import { verifyWebhook } from "executable-address/webhook";
import type { Demo } from "./demo.ts";
import { demoTokens, localChainId, payerAccount } from "./local-chain.ts";

type Delivery = { headers: IncomingHttpHeaders; body: string };

/** @param pay pays an address, whose events go to a temporary endpoint */
export async function showEvent(demo: Demo, pay: (address: Hex) => Promise<void>): Promise<void> {
  const { baseUrl, apiKey } = demo;
  const client = createClient({ baseUrl, apiKey });
  const receiver = createServer().listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
  const { id, secret } = await client.webhooks.create({ url, types: ["address.executed"] });
  try {
    const { address } = await client.create(sampleIntent());
    const delivery = executionOf(address, receiver);
    await pay(address);
    const { headers, body } = await delivery;
    const event = await verifyWebhook(body, headers, { secret });
    console.log(`POST ${url}`);
    for (const [name, value] of Object.entries(headers))
      if (/^(webhook-|content-type)/.test(name)) console.log(`${name}: ${value}`);
    console.log(`\n${JSON.stringify(event, null, 2)}\n\nsigned by ${secret}`);
  } finally {
    await client.webhooks.remove(id);
    receiver.close();
    receiver.closeAllConnections();
  }
}

/** Sends one token back to its payer. */
function sampleIntent() {
  const [{ address: token, decimals }] = demoTokens as [(typeof demoTokens)[number]];
  const amount = String(10 ** decimals);
  const recovery = payerAccount.address;
  const call = {
    target: token,
    function: "transfer(address to, uint256 amount)",
    args: [recovery, amount],
  };
  const expirationTimestamp = Math.floor(Date.now() / 1000) + 86_400;
  return { token, amount, calls: [call], expirationTimestamp, recovery, chainId: localChainId };
}

/** Ignores events of other addresses of the demo's account. */
function executionOf(address: Hex, receiver: ReturnType<typeof createServer>): Promise<Delivery> {
  return new Promise((resolve, reject) => {
    receiver.on("request", async (request, response) => {
      try {
        const { headers } = request;
        let body = "";
        for await (const chunk of request) body += chunk;
        response.writeHead(204).end();
        if (body.toLowerCase().includes(address.toLowerCase())) resolve({ headers, body });
      } catch (error) {
        reject(error);
      }
    });
  });
}
