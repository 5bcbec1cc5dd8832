// Tests the errors of `npm run pay`. For payments and invalid arguments, see e2e/start.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { makeRecord } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { startFixedNode } from "../contracts/testing/other-chain.ts";
import { intentOf } from "../service/bench/intents.ts";
import { demoFile } from "./demo.ts";
import { localChainId } from "./local-chain.ts";

const recordOn = (chainId: number) =>
  makeRecord({ ...intentOf(1, 4_000_000_000), chainId }, { factory: factoryAddress });

async function startService(t: TestContext, status: number, body: unknown) {
  const service = createServer((_request, response) => {
    response.writeHead(status).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  t.after(() => service.close());
  await once(service, "listening");
  return `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
}

/** Writes `demo` to the input file of `npm run pay`, and tries to pay. Returns the error. */
async function refusal(
  t: TestContext,
  demo: object | undefined,
  { address } = recordOn(localChainId),
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "pay-"));
  t.after(() => rmSync(directory, { recursive: true }));
  if (demo) writeFileSync(demoFile(directory), JSON.stringify(demo));
  const args = [join(import.meta.dirname, "pay.ts"), address];
  const env = { ...process.env, DATA_DIR: directory };
  const failed = await promisify(execFile)(process.execPath, args, { env }).catch((error) => error);
  assert.equal(failed.code, 1);
  return failed.stderr.replace(directory, "DATA").trimEnd();
}

test("`npm run pay` explains that npm start has to run first", async (t) =>
  assert.equal(
    await refusal(t, undefined),
    "DATA does not contain a local chain: run npm start first.",
  ));

test("`npm run pay` shows an error from the service", async (t) => {
  const baseUrl = await startService(t, 404, { error: { message: "no intent is held" } });
  assert.equal(await refusal(t, { baseUrl }), `${baseUrl} returned 404: no intent is held`);
});

test("`npm run pay` rejects an address on another chain", async (t) => {
  const record = recordOn(1);
  const baseUrl = await startService(t, 200, record);
  const { methods, rpcUrl } = await startFixedNode(t, () => "0x7a69");
  const said = `${record.address} is on chain 1; this command pays only on the local chain.`;
  assert.equal(await refusal(t, { baseUrl, rpcUrl }, record), said);
  assert.deepEqual(methods, []);
});

test("`npm run pay` rejects a record of another address", async (t) => {
  const baseUrl = await startService(t, 200, recordOn(1));
  const { methods, rpcUrl } = await startFixedNode(t, () => "0x7a69");
  assert.match(await refusal(t, { baseUrl, rpcUrl }), /address: expected 0x/);
  assert.deepEqual(methods, []);
});

test("`npm run pay` reports a failed transaction", async (t) => {
  const hash = `0x${"77".repeat(32)}`;
  const zero = `0x${"00".repeat(32)}`;
  const block = { number: "0x1", hash: zero, timestamp: "0x1", baseFeePerGas: "0x1" };
  const answers: Record<string, unknown> = {
    eth_chainId: "0x7a69",
    eth_getBlockByNumber: { ...block, transactions: [] },
    eth_sendRawTransaction: hash,
    eth_getTransactionReceipt: {
      ...{ transactionHash: hash, status: "0x0", blockNumber: "0x1", blockHash: zero },
      ...{ logs: [], gasUsed: "0x1", transactionIndex: "0x0", type: "0x2" },
    },
  };
  const baseUrl = await startService(t, 200, recordOn(localChainId));
  const { rpcUrl } = await startFixedNode(t, (method) => answers[method] ?? "0x1");
  assert.equal(await refusal(t, { baseUrl, rpcUrl }), `The transaction ${hash} failed.`);
});
