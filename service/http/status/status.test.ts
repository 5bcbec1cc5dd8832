import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { deriveReturns, readStatus } from "executable-address/status";
import { headMsMax } from "../../chain/rpc/heads.ts";
import { startApp } from "../../testing/app.ts";
import { chainsAt, keepRecord, serveWorld } from "../../testing/app-on-chain.ts";
import { startWorld } from "../../testing/chain/world.ts";

const { world, server, get, stop } = await serveWorld();
after(stop);

describe("GET /v1/address/{address}/status", () => {
  test("returns 400 `invalid_request` for anything but an address", async () => {
    const answer = await get("0x12/status");
    assert.equal(answer.statusCode, 400);
    assert.equal(answer.json().error.code, "invalid_request");
    assert.match(answer.json().error.message, /0x and 40 hex digits, found "0x12"$/);
  });

  test("returns 404 `not_found` if no intent is stored", async () => {
    const answer = await get(`0x${"5a".repeat(20)}/status`);
    assert.equal(answer.statusCode, 404);
    assert.deepEqual([answer.json().error.code, answer.json().error.issues], ["not_found", []]);
    assert.equal(answer.headers["cache-control"], "no-store");
  });

  test("returns 503 with `Retry-After` if the chain's RPC fails", async () => {
    const record = await world.newRecord();
    const cut = await startApp({ chains: chainsAt(world, "http://127.0.0.1:9") });
    await keepRecord(cut, record);
    const answer = await get(`${record.address}/status`, cut);
    assert.equal(answer.statusCode, 503);
    assert.equal(answer.json().error.code, "chain_unavailable");
    assert.equal(answer.headers["retry-after"], "2");
    assert.equal(answer.headers["access-control-allow-origin"], "*");
    assert.doesNotMatch(answer.body, /127\.0\.0\.1/);
    await cut.close();
  });

  test("returns 503 if the RPC serves another chain", async () => {
    const record = await world.newRecord();
    const other = await startWorld(1);
    const misled = await startApp({ chains: chainsAt(world, other.rpcUrl) });
    await keepRecord(misled, record);
    const answer = await get(`${record.address}/status`, misled);
    assert.equal(answer.json().error.code, "chain_unavailable");
    assert.match(misled.logged.join(), /expected a node of chain 31337, found 1/);
    await misled.close();
    await other.stop();
  });

  test("returns 503 if too many statuses are being read", async () => {
    const record = await world.newRecord();
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const chains = chainsAt(world, `http://127.0.0.1:${port}`);
    const busy = await startApp({ chains, limits: { lookupsInFlightMax: 1 } });
    await keepRecord(busy, record);
    const connected = once(silent, "connection");
    const pending = get(`${record.address}/status`, busy);
    const [socket] = (await connected) as [Socket];
    const refused = await get(`${record.address}/status`, busy);
    assert.equal(refused.statusCode, 503);
    const { code, message } = refused.json().error;
    assert.equal(code, "service_unavailable");
    const full = 'expected at most 1 simultaneous requests for "status", found 2';
    assert.equal(message, `${full}: try again in a second`);
    assert.equal((await get(record.address, busy)).statusCode, 200);
    silent.close();
    socket.destroy();
    assert.equal((await pending).json().error.code, "chain_unavailable");
    await busy.close();
  });

  test("returns 503 for a chain that is no longer in the chains file", async () => {
    const record = await world.newRecord();
    const without = await startApp();
    await keepRecord(without, record);
    const answer = await get(`${record.address}/status`, without);
    assert.equal(answer.statusCode, 503);
    assert.equal(answer.json().error.code, "chain_unavailable");
    assert.match(without.logged.join(), /chain 31337 is not configured/);
    await without.close();
  });

  test("answers POST with 405", async () => {
    const url = `/v1/address/0x${"5a".repeat(20)}/status`;
    assert.equal((await server.app.inject({ method: "POST", url })).statusCode, 405);
  });

  test("returns the same status as the library", async () => {
    const record = await keepRecord(server, await world.newRecord());
    await world.pay(record.address, 40n);
    const answer = await get(`${record.address}/status`);
    const { executor, explorer, settledAt, strays, wrongTokens, elsewhere, ...status } =
      answer.json();
    assert.equal(answer.statusCode, 200);
    assert.equal(status.state, "partially_funded");
    assert.deepEqual([executor, explorer, settledAt, strays], [null, null, null, []]);
    assert.deepEqual([wrongTokens, elsewhere], [[], []]);
    assert.deepEqual(status, await readStatus(record, { rpc: world.rpcUrl }));
  });

  test("lists native coin and tokens that the open address does not request", async () => {
    const record = await world.newRecord();
    const other = await world.newToken();
    const chains = chainsAt(world);
    const known = chains.find(record.intent.chainId)!;
    const tokens = [...known.tokens, { symbol: "OTH", address: other, decimals: 6 }];
    const lists = await startApp({ chains: { ...chains, find: () => ({ ...known, tokens }) } });
    await keepRecord(lists, record);
    const straysOf = async () => (await get(`${record.address}/status`, lists)).json().strays;
    assert.deepEqual(await straysOf(), []);
    await world.payNative(record.address, 5n);
    await world.pay(record.address, 7n, other);
    await sleep(headMsMax);
    assert.deepEqual(await straysOf(), [
      { token: `0x${"0".repeat(40)}`, amount: "5" },
      { token: other, amount: "7" },
    ]);
    await world.pay(record.address, BigInt(record.intent.amount));
    await world.execute(record);
    await sleep(headMsMax);
    assert.deepEqual(await straysOf(), []);
    await lists.close();
  });

  test("contains the URL of the block explorer if it is configured", async () => {
    const chains = chainsAt(world);
    const explorer = "https://explorer.example";
    const find = (chainId: number) => ({ ...chains.find(chainId)!, explorer });
    const explored = await startApp({ chains: { ...chains, find } });
    const record = await keepRecord(explored, await world.newRecord());
    assert.equal((await get(`${record.address}/status`, explored)).json().explorer, explorer);
    await explored.close();
  });

  test("contains the executor's job while the job is not idle", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const job = {
      chain_id: 31_337,
      address: Buffer.from(record.address.slice(2), "hex"),
      due_at: 1,
      not_before: 0,
      purpose_id: null,
      failures: 2,
      paid_failures: 0,
      recovery_failures: 0,
      state: "waiting" as const,
      reason: "backoff",
      detected_at: 1,
      detected_block: 1,
    };
    const { db } = server.parts.store;
    await db.insertInto("executor_jobs").values(job).execute();
    const { executor } = (await get(`${record.address}/status`)).json();
    assert.deepEqual(executor, {
      purpose: null,
      phase: "waiting",
      transactionHash: null,
      attempts: 2,
      reason: "backoff",
    });
    await db.updateTable("executor_jobs").set({ state: "idle" }).execute();
    assert.equal((await get(`${record.address}/status`)).json().executor, null);
  });

  test("is not cached, and accepts an address in lowercase", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const answer = await get(`${record.address.toLowerCase()}/status`);
    assert.equal(answer.json().address, record.address);
    assert.equal(answer.headers["cache-control"], "no-store");
    assert.equal(answer.headers["access-control-allow-origin"], "*");
  });

  test("reads a status once for 1,000 simultaneous requests", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const rpc = server.parts.chains.rpcOf(31_337);
    const calls: string[] = [];
    const { request } = rpc;
    rpc.request = (method, params) => {
      calls.push(method);
      return request(method, params);
    };
    const began = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 1000 }, () => get(`${record.address}/status`)),
    );
    const headsMax = 1 + (performance.now() - began) / headMsMax;
    rpc.request = request;
    assert.ok(answers.every((answer) => answer.statusCode === 200));
    const blockMethod = "eth_getBlockByNumber";
    assert.deepEqual(
      calls.filter((method) => method !== blockMethod),
      // The first call reads the status, and the second call reads the balances of other tokens.
      ["eth_call", "eth_call"],
    );
    // One more block request checks that the status's block is still part of the chain.
    const blocks = calls.filter((method) => method === blockMethod).length;
    assert.ok(blocks <= headsMax + 1, `${blocks} blocks, ${headsMax} heads`);
  });
});

describe("GET /v1/address/{address}/returns", () => {
  const returnsOf = (address: string, to = server) => get(`${address}/returns`, to);

  test("returns 404 `not_found` if no intent is stored", async () => {
    const answer = await returnsOf(`0x${"5a".repeat(20)}`);
    assert.equal(answer.statusCode, 404);
    assert.deepEqual([answer.json().error.code, answer.json().error.issues], ["not_found", []]);
  });

  test("contains the executor's rules while an executor runs", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const { db } = server.parts.store;
    const { chainId } = record.intent;
    assert.deepEqual((await returnsOf(record.address)).json(), deriveReturns(record));
    const lease = { chain_id: chainId, holder: "one", epoch: 1, renewals: 0 };
    await db.insertInto("executor_leases").values(lease).execute();
    const answer = await returnsOf(record.address.toLowerCase());
    const { confirmations, paymentConfirmations } = server.parts.chains.find(chainId)!;
    const policy = { confirmations, paymentConfirmations, amountMin: "1" };
    assert.deepEqual(answer.json(), deriveReturns(record, policy));
    assert.equal(answer.headers["cache-control"], "public, max-age=60");
    await db.insertInto("executor_pauses").values({ chain_id: chainId }).execute();
    assert.equal((await returnsOf(record.address)).json().executor, null);
    await db.deleteFrom("executor_pauses").execute();
    await db.updateTable("executor_leases").set({ holder: "" }).execute();
    assert.equal((await returnsOf(record.address)).json().executor, null);
    await db.deleteFrom("executor_leases").execute();
  });

  test("needs no connection to the chain", async () => {
    const record = await world.newRecord();
    const without = await startApp();
    await keepRecord(without, record);
    assert.deepEqual((await returnsOf(record.address, without)).json(), deriveReturns(record));
    await without.close();
  });
});
