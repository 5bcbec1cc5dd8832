import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { createClient, WaitError } from "executable-address/client";
import { receiptFormat, verifyAddressProof, verifyReceipt } from "executable-address/proof";
import { demoToken } from "executable-address-contracts";
import { encodeFunctionData } from "viem";
import { listen, startApp } from "../../testing/app.ts";
import { chainsAt, keepRecord, serveWorld } from "../../testing/app-on-chain.ts";
import { startProxy } from "../../testing/executor/rpc-proxy.ts";

/** keccak-256 of `Transfer(address,address,uint256)`. */
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

const { world, server, get: getPath, stop } = await serveWorld();
after(stop);

const get = (address: string, query = "", from = server) =>
  getPath(`${address}/proof${query}`, from);

describe("GET /v1/address/{address}/proof", () => {
  test("returns 400 for a malformed address or a malformed block", async () => {
    assert.equal((await get("0x12")).statusCode, 400);
    const { address } = await keepRecord(server, await world.newRecord());
    for (const block of ["", "-1", "0x1", "safe", "01"]) {
      const answer = await get(address, `?block=${block}`);
      const [{ path, code, message }] = answer.json().error.issues;
      assert.deepEqual([answer.statusCode, path, code], [400, ["block"], "wrong_block"], block);
      assert.ok(message.endsWith(`or a block number, found "${block}"`), message);
    }
  });

  test("returns 404 `not_found` if no intent is stored", async () => {
    const answer = await get(`0x${"5a".repeat(20)}`);
    assert.deepEqual([answer.statusCode, answer.json().error.code], [404, "not_found"]);
  });

  test("returns 503 `chain_unavailable` if the chain's RPC is down", async () => {
    const cut = await startApp({ chains: chainsAt(world, "http://127.0.0.1:9") });
    const { address } = await keepRecord(cut, await world.newRecord());
    const answer = await get(address, "", cut);
    assert.deepEqual([answer.statusCode, answer.json().error.code], [503, "chain_unavailable"]);
    await cut.close();
  });

  test("returns 503 `unproved` for a block that does not exist", async () => {
    const { address } = await keepRecord(server, await world.newRecord());
    const answer = await get(address, "?block=999999");
    const { code, message } = answer.json().error;
    assert.deepEqual([answer.statusCode, code], [503, "unproved"]);
    assert.match(message, /the node has no block 999999/);
    assert.doesNotMatch(server.logged.join(), /request failed/);
  });

  test("returns 503 `unproved` and logs it if the node's proof is invalid or missing", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const change: Record<string, (answer: { result?: unknown }) => object> = {
      eth_getProof: () => ({ error: { code: -32601, message: "no such method" } }),
      "eth_getProof of another": () => ({ result: { accountProof: ["0xc0"] } }),
      "eth_getBlockByHash of another": ({ result }) => ({
        result: { ...(result as object), stateRoot: `0x${"ab".repeat(32)}` },
      }),
    };
    for (const [name, lie] of Object.entries(change)) {
      const liar = await startProxy(world.rpcUrl, ({ id, method }, answer) =>
        method === name.split(" ")[0] ? { id, jsonrpc: "2.0", ...lie(answer) } : answer,
      );
      const app = await startApp({ chains: chainsAt(world, liar.url) });
      await keepRecord(app, record);
      const answer = await get(record.address, "", app);
      assert.deepEqual([answer.statusCode, answer.json().error.code], [503, "unproved"], name);
      assert.match(answer.json().error.message, /no valid proof is available: ./);
      assert.match(app.logged.join(), /request failed/, name);
      await app.close();
      liar.stop();
    }
  });

  test("returns 503 `unproved` without the node's message, which is only in the log", async () => {
    const error = { code: -32000, message: "no backend at node-7.internal" };
    const node = await startProxy(world.rpcUrl, ({ id, method }, answer) =>
      method === "eth_getProof" ? { id, jsonrpc: "2.0", error } : answer,
    );
    const app = await startApp({ chains: chainsAt(world, node.url) });
    const { address } = await keepRecord(app, await world.newRecord());
    const answer = await get(address, "", app);
    assert.equal(answer.json().error.code, "unproved");
    assert.doesNotMatch(answer.body, /node-7/);
    assert.match(app.logged.join(), /no backend at node-7\.internal/);
    await app.close();
    node.stop();
  });

  test("returns a proof that a page can verify with only block hashes", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const open = await get(record.address);
    assert.equal(open.statusCode, 200);
    assert.equal(open.headers["access-control-allow-origin"], "*");
    assert.equal(open.json().outcome, "open");
    await world.pay(record.address, 130n);
    const { transactionHash } = await world.execute(record);
    await world.mine(2);
    const { number } = await world.client.getBlock();
    const answer = await get(record.address, `?block=${number}`);
    const found = answer.json();
    assert.equal(answer.headers.etag, `"${found.block.hash}-1"`);
    const headers = { "if-none-match": String(answer.headers.etag) };
    const url = `/v1/address/${record.address}/proof?block=${number}`;
    const again = await server.app.inject({ url, headers });
    assert.deepEqual([again.statusCode, again.body], [304, ""]);
    const trusted = [found.block, found.execution.block].map(({ hash }) => ({
      chainId: record.intent.chainId,
      hash,
    }));
    const { outcome, execution } = verifyAddressProof(record, found, trusted);
    assert.deepEqual([outcome, execution?.transactionHash], ["executed", transactionHash]);
    assert.deepEqual([execution?.held, execution?.left], ["130", "30"]);
  });

  test("returns a new `ETag` if the payer becomes known", async () => {
    const record = await keepRecord(server, await world.newRecord());
    await world.pay(record.address, 100n);
    await world.execute(record);
    let isMute = true;
    const proxy = await startProxy(world.rpcUrl, ({ id, method, params }, answer) =>
      isMute && method === "eth_getLogs" && JSON.stringify(params).includes(transferTopic)
        ? { id, jsonrpc: "2.0", error: { code: -32601, message: "no such method" } }
        : answer,
    );
    const app = await startApp({ chains: chainsAt(world, proxy.url) });
    await keepRecord(app, record);
    const block = `?block=${await world.client.getBlockNumber()}`;
    const before = await get(record.address, block, app);
    isMute = false;
    const later = await get(record.address, block, app);
    await app.close();
    proxy.stop();
    assert.deepEqual([before.statusCode, later.statusCode], [200, 200], before.body);
    assert.deepEqual(before.json().payments, []);
    assert.equal(later.json().payments[0].payments[0].amount, "100");
    assert.notEqual(later.headers.etag, before.headers.etag);
  });

  test("proves the largest payment to an open address despite dust", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const ranges: number[] = [];
    const proxy = await startProxy(world.rpcUrl, ({ method, params }, answer) => {
      if (method === "eth_getLogs" && JSON.stringify(params).includes(transferTopic))
        ranges.push(Number((params as [{ fromBlock: string }])[0].fromBlock));
      return answer;
    });
    const app = await startApp({ chains: chainsAt(world, proxy.url) });
    await keepRecord(app, record);
    await world.pay(record.address, 50n);
    for (let dust = 0; dust < 8; dust++) await world.pay(record.address, 1n);
    const read = async () => (await get(record.address, "", app)).json();
    const first = await read();
    assert.deepEqual([first.outcome, first.paymentsOmitted], ["open", 5]);
    assert.equal(first.payments.length, 4);
    assert.equal(first.payments[0].payments[0].amount, "50");
    await world.pay(record.address, 20n);
    const next = await read();
    await world.reorg(1);
    const reorganised = await read();
    await app.close();
    proxy.stop();
    const amounts = [next, reorganised].map(({ payments, paymentsOmitted }) => [
      ...payments.map((each: { payments: [{ amount: string }] }) => each.payments[0].amount),
      paymentsOmitted,
    ]);
    assert.deepEqual(amounts, [
      ["50", "1", "1", "20", 6],
      ["50", "1", "1", "1", 5],
    ]);
    assert.deepEqual(ranges, [0, first.block.number + 1, 0]);
    const receipt = { format: receiptFormat, record, proof: next, payments: next.payments };
    assert.equal(verifyReceipt(receipt, "its own").payments.length, 4);
  });

  test("counts a payment in a huge transaction, but does not prove the payment", async () => {
    const record = await keepRecord(server, await world.newRecord());
    await world.pay(record.address, 30n);
    const { abi } = demoToken;
    const args = [record.address, 40n] as const;
    const data = encodeFunctionData({ abi, functionName: "mint", args });
    const { client, token } = world;
    const hash = await client.sendTransaction({ to: token, data: `${data}${"00".repeat(40_000)}` });
    await client.waitForTransactionReceipt({ hash });
    const found = (await get(record.address)).json();
    assert.deepEqual([found.payments.length, found.paymentsOmitted], [1, 1]);
    assert.equal(found.payments[0].payments[0].amount, "30");
  });

  test("reads one proof per address and block, and at most four simultaneously", async () => {
    let [read, open, most] = [0, 0, 0];
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const proxy = await startProxy(world.rpcUrl, async ({ method }, answer) => {
      if (method !== "eth_getProof") return answer;
      read += 1;
      open += 1;
      most = Math.max(most, open);
      if (open === 4) setTimeout(release, 300);
      await released;
      open -= 1;
      return answer;
    });
    const app = await startApp({ chains: chainsAt(world, proxy.url) });
    const made = await Promise.all(Array.from({ length: 6 }, () => world.newRecord()));
    for (const record of made) await keepRecord(app, record);
    const block = `?block=${await world.client.getBlockNumber()}`;
    const asked = made.flatMap(({ address }) => [address, address, address]);
    const answers = await Promise.all(asked.map((address) => get(address, block, app)));
    assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]));
    assert.deepEqual([read, most], [6, 4]);
    await app.close();
    proxy.stop();
  });

  test("returns 429 `rate_limited` above a burst of 30 requests", async () => {
    const app = await startApp({ chains: chainsAt(world, world.rpcUrl) });
    const { address } = await keepRecord(app, await world.newRecord());
    const answers = await Promise.all(Array.from({ length: 45 }, () => get(address, "", app)));
    const refused = answers.filter(({ statusCode }) => statusCode !== 200);
    assert.ok(refused.length > 0 && refused.length <= 15, String(refused.length));
    for (const answer of refused) {
      assert.deepEqual([answer.statusCode, answer.json().error.code], [429, "rate_limited"]);
      assert.ok(Number(answer.headers["retry-after"]) > 0);
    }
    await app.close();
  });

  test("`client.waitFor` with `proof` does not trust a status that claims execution", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const paid = await keepRecord(server, await world.newRecord());
    await world.pay(paid.address, 100n);
    await world.execute(paid);
    const lie = async (input: string | URL | Request) => {
      const path = String(input).replace(/^.*address\//, "");
      if (path.endsWith("/events")) return new Response("", { status: 500 });
      const isTrue = path === record.address;
      const { body } = await getPath(isTrue ? path : path.replace(record.address, paid.address));
      return new Response(body.replaceAll(paid.address, record.address), {
        headers: { "content-type": "application/json" },
      });
    };
    const client = createClient({ baseUrl: "http://127.0.0.1/v1", fetch: lie as typeof fetch });
    assert.equal((await client.waitFor(record.address, "executed")).state, "executed");
    const proof = { rpcs: [world.rpcUrl] };
    assert.equal((await client.prove(record, proof)).outcome, "open");
    const options = { proof, pollMs: 10, timeoutMs: 300 };
    await assert.rejects(client.waitFor(record.address, "executed", options), WaitError);
  });

  test("`client.prove` works with and without the service", async () => {
    const record = await keepRecord(server, await world.newRecord());
    await world.pay(record.address, 100n);
    await world.execute(record);
    const rpcs = [world.rpcUrl];
    const client = createClient({ baseUrl: `http://127.0.0.1:${await listen(server)}/v1` });
    const { outcome, execution } = await client.prove(record.address, { rpcs });
    assert.deepEqual([outcome, execution?.held], ["executed", "100"]);
    const waited = await client.waitFor(record.address, "executed", { proof: { rpcs } });
    assert.equal(waited.state, "executed");
    const away = createClient({ baseUrl: "http://127.0.0.1:9", retriesMax: 0 });
    assert.equal((await away.prove(record, { rpcs })).outcome, "executed");
  });
});
