// Runs a webhook receiver and its shop over HTTP, for tests of try-receiver.

import type { Hex } from "executable-address";
import { serve } from "../../address/test/serve.ts";
import { freePort } from "../../contracts/anvil.ts";
import { settingsAt } from "../try/try-receiver.ts";

export type Headers = Record<string, string>;

export type Receiver = {
  order(reference: string, intent: ReturnType<typeof orderIntent>): Promise<unknown>;
  receive(body: string, headers: Headers): Promise<unknown>;
  goodsOf(address: string): number;
  close?(): unknown;
};

const customer: Hex = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const token: Hex = `0x${"70".repeat(20)}`;

const orderIntent = () => ({
  ...{ chainId: 31_337, token, amount: "5", recovery: customer },
  calls: [
    { target: token, function: "transfer(address to, uint256 amount)", args: [customer, "5"] },
  ],
  expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
});

/** @param open creates the receiver from the settings that try-receiver prints */
export async function serveReceiver(open: (settings: Record<string, string>) => Receiver) {
  const port = await freePort();
  const receiver = open({ ...settingsAt(port) });
  let orders = 0;
  const { origin, close } = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url!;
    try {
      if (path === "/orders") await receiver.order(`order-${++orders}`, orderIntent());
      else if (path === "/webhooks")
        await receiver.receive(Buffer.concat(chunks).toString(), request.headers as Headers);
      else return void response.end(String(receiver.goodsOf(path.slice("/goods/".length))));
      response.statusCode = 204;
    } catch {
      response.statusCode = 400;
    }
    response.end();
  });
  return {
    ...{ port, url: `${origin}/webhooks`, order: `${origin}/orders` },
    goods: `${origin}/goods/{address}`,
    async close() {
      await close();
      await receiver.close?.();
    },
  };
}
