// try-receiver tells a receiver that believes what is signed from one that proves it. The example
// shop's score is in e2e/shop.test.ts.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { createClient } from "executable-address/client";
import { verifyWebhook } from "executable-address/webhook";
import { serve } from "../../address/test/serve.ts";
import { freePort } from "../../contracts/anvil.ts";
import { openShop, sqliteStore } from "../shop.ts";
import { openTryChain } from "./chain.ts";
import { settingsAt } from "./try-receiver.ts";

const cli = new URL("cli.ts", import.meta.url).pathname;
const customer: Hex = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** A shop's answers to its three paths. */
type Receiver = {
  order(reference: string): Promise<unknown>;
  receive(body: string, headers: Record<string, string>): Promise<unknown>;
  goodsOf(address: string): number | Promise<number>;
};

async function scoreOf(open: (settings: Record<string, string>) => Receiver) {
  const port = await freePort();
  const receiver = open({ ...settingsAt(port) });
  let orders = 0;
  const server = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const path = request.url!;
    try {
      if (path === "/orders") await receiver.order(`order-${++orders}`);
      else if (path === "/webhooks")
        await receiver.receive(body, request.headers as Record<string, string>);
      else return response.end(String(await receiver.goodsOf(path.slice("/goods/".length))));
      response.statusCode = 204;
    } catch {
      response.statusCode = 400;
    }
    response.end();
  });
  const { origin } = server;
  const asked = ["--order", `${origin}/orders`, "--goods", `${origin}/goods/{address}`];
  const args = [cli, "try-receiver", `${origin}/webhooks`, "--port", String(port), ...asked];
  const child = spawn(process.execPath, args);
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  const status = await new Promise((done) => child.on("close", done));
  await server.close();
  return { status, score: JSON.parse(out), told: err };
}

const intent = () => ({
  chainId: 31_337,
  token: `0x${"70".repeat(20)}` as Hex,
  amount: "5",
  calls: [
    {
      target: `0x${"70".repeat(20)}` as Hex,
      function: "transfer(address to, uint256 amount)",
      args: [customer, "5"],
    },
  ],
  expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
  recovery: customer,
});

describe("try-receiver", { concurrency: true }, () => {
  test("much less than 100 % for a receiver that believes what is signed", async () => {
    const { status, score, told } = await scoreOf((settings) => {
      const { BASE: baseUrl = "", API_KEY: apiKey = "", WEBHOOK_SECRET: secret = "" } = settings;
      const service = createClient({ baseUrl, apiKey });
      const orders = new Map<string, string>();
      const goods = new Map<string, number>();
      return {
        async order(reference) {
          orders.set(reference, (await service.create(intent(), { reference })).address);
        },
        async receive(body, headers) {
          const { type, data } = await verifyWebhook(body, headers, { secret });
          const address = orders.get(String(data.reference)) ?? data.address;
          if (type === "address.executed") goods.set(address, (goods.get(address) ?? 0) + 1);
        },
        goodsOf: (address) => goods.get(address) ?? 0,
      };
    });
    assert.equal(status, 1);
    const page = readFileSync(new URL("../../docs/web-shop.md", import.meta.url), "utf8");
    const [, percent] = /believes what is signed has\s(\d+) %/.exec(page) ?? [];
    assert.equal(score.percent, Number(percent), `docs/web-shop.md names another: ${told}`);
    assert.match(told, /NO {3}delivers nothing for an unpaid order that is told as executed/);
  });

  test("100 % for one that is built on the kit", async () => {
    const { status, score, told } = await scoreOf((settings) => {
      const { BASE: baseUrl = "", API_KEY: apiKey = "", REFERENCE_KEY = "" } = settings;
      const goods = new Map<string, number>();
      const shop = openShop({
        store: sqliteStore(new DatabaseSync(":memory:")),
        service: { baseUrl, apiKey },
        referenceKeys: [REFERENCE_KEY],
        secrets: [settings.WEBHOOK_SECRET!],
        rpcs: [settings.RPC_URL!],
        confirmations: 0,
        deliver: ({ record }) => goods.set(record.address, (goods.get(record.address) ?? 0) + 1),
        refund() {},
        warn() {},
      });
      return {
        order: (reference) => shop.order(reference, intent()),
        receive: (body, headers) => shop.receive(body, headers),
        goodsOf: (address) => goods.get(address) ?? 0,
      };
    });
    assert.deepEqual([score.percent, status], [100, 0], told);
  });

  test("2 for what is no URL, and for what is no port", async () => {
    for (const args of [["nowhere"], ["http://127.0.0.1:9/", "--port", "x"]]) {
      const child = spawn(process.execPath, [cli, "try-receiver", ...args]);
      assert.equal(await new Promise((done) => child.on("close", done)), 2);
    }
  });
});

test("-32601 for a method of JSON-RPC that receivers do not ask", async () => {
  await assert.rejects(openTryChain(1).call("eth_mining", []), {
    rpcCode: -32601,
    message: "eth_mining is not known here",
  });
});
