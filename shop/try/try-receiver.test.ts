// Tests the command as a user runs it. mutants.test.ts tests which flaws the command finds.
// e2e/shop.test.ts runs the command with the example shop.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { openShop, sqliteStore } from "../shop.ts";
import { type Receiver, serveReceiver } from "../test/receiver.ts";
import { openTryChain } from "./chain.ts";

const cli = new URL("cli.ts", import.meta.url).pathname;

async function run(...args: string[]) {
  const child = spawn(process.execPath, [cli, ...args]);
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  const status = await new Promise((done) => child.on("close", done));
  return { status, out, err };
}

async function scoreOf(open: (settings: Record<string, string>) => Receiver) {
  const { url, port, order, goods, close } = await serveReceiver(open);
  const seen = ["--port", String(port), "--order", order, "--goods", goods];
  const { status, out, err } = await run("try-receiver", url, ...seen);
  await close();
  return { status, score: JSON.parse(out), output: err };
}

describe("executable-address-shop try-receiver", { concurrency: true }, () => {
  test("try-receiver exits with 0 for a receiver that uses the library", async () => {
    const { status, score, output } = await scoreOf((settings) => {
      const { BASE: baseUrl = "", API_KEY: apiKey = "", REFERENCE_KEY = "" } = settings;
      const goods = new Map<string, number>();
      const shop = openShop({
        store: sqliteStore(new DatabaseSync(":memory:")),
        service: { baseUrl, apiKey },
        referenceKeys: [REFERENCE_KEY],
        secrets: [settings.WEBHOOK_SECRET!],
        rpcs: [settings.RPC_URL!],
        confirmations: 0,
        reconcileMs: 500,
        deliver: ({ record }) => goods.set(record.address, (goods.get(record.address) ?? 0) + 1),
        refund() {},
        warn() {},
      });
      const started = shop.start();
      return {
        order: (reference, intent) => shop.order(reference, intent),
        receive: (body, headers) => shop.receive(body, headers),
        goodsOf: (address) => goods.get(address) ?? 0,
        close: () => started.then(shop.stop),
      };
    });
    assert.deepEqual([score.percent, status], [100, 0], output);
  });

  test("try-receiver exits with 1 and counts the failed checks", async () => {
    const { url, port, close } = await serveReceiver(() => ({
      order: async () => {},
      receive: async () => {},
      goodsOf: () => 0,
    }));
    const { status, out, err } = await run("try-receiver", url, "--port", String(port));
    await close();
    const { passed, tried } = JSON.parse(out);
    assert.deepEqual([status, passed], [1, 1]);
    assert.match(err, /FAIL {2}rejects a delivery without a valid signature/);
    assert.match(err, new RegExp(`${tried - 1} of ${tried} failed`));
  });

  test("try-receiver exits with 2 for invalid arguments", async () => {
    for (const [args, message] of [
      [[], /expected the command try-receiver, found nothing/],
      [["try-receiver"], /expected the http or https URL of the receiver, found ""/],
      [["try-receiver", "nowhere"], /https URL of the receiver, found "nowhere"/],
      [["try-receiver", "http://127.0.0.1:9/", "http://127.0.0.1:9/"], /expected one URL, found 2/],
      [["try-receiver", "http://127.0.0.1:9/", "--port", "x"], /from 1 to 65535, found x/],
      [["try-receiver", "http://127.0.0.1:9/", "--ports", "1"], /--ports/],
    ] as const) {
      const { status, err } = await run(...args);
      assert.equal(status, 2);
      assert.match(err, message);
      assert.match(err, /usage: executable-address-shop/);
    }
  });
});

test("the test chain returns -32601 for an unsupported method", async () => {
  await assert.rejects(openTryChain(1).call("eth_mining", []), {
    rpcCode: -32601,
    message: "eth_mining is not supported",
  });
});
