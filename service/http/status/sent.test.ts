import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test } from "node:test";
import { type AddressRecord, fromHex, type Hex } from "executable-address";
import type { SentMoney } from "executable-address/client";
import { topicOf, transferTopic } from "executable-address/status";
import { parseAbi } from "viem";
import { memoryLimiter } from "../../accounts/limits.ts";
import { describePolicy, internalPolicies } from "../../accounts/policies.ts";
import { openExecutorClient } from "../../executor/client.ts";
import { takeLease } from "../../executor/ledger/lease.ts";
import { reportedPerAccountDay } from "../../executor/ledger/reported-tokens.ts";
import { chainsOf, startApp, type TestApp } from "../../testing/app.ts";
import { chainsAt, keepRecord, serveWorld } from "../../testing/app-on-chain.ts";
import { deployOdd } from "../../testing/chain/odd-contracts.ts";
import { startProxy } from "../../testing/executor/rpc-proxy.ts";

const { world, server, stop } = await serveWorld();
after(stop);
const { chainId } = world.chain;
const { store, log } = server.parts;
const [listed, plain] = [world.token, await world.newToken()];
// The service schedules the return of a token only while an executor has the chain's lease.
await takeLease(store.db, chainId, "the executor of the test", undefined);

let clients = 0;
/** Returns an IP address in a new network, so that no limit per network takes effect. */
const otherNetwork = () => `203.0.${++clients >> 8}.${clients & 255}`;
const report = (address: string, body: object, { app }: TestApp = server, from = otherNetwork()) =>
  app.inject({
    ...{ method: "POST", url: `/v1/address/${address}/sent`, body, remoteAddress: from },
  });
const sentTo = async (address: string, body: object, to?: TestApp): Promise<SentMoney> => {
  const response = await report(address, body, to);
  assert.equal(response.statusCode, 200, response.body);
  assert.equal(response.headers["cache-control"], "no-store");
  return response.json();
};
const fateOf = async (address: string, token: Hex, at?: TestApp) =>
  (await sentTo(address, { token }, at)).tokens[0]!.fate;
const openRecord = async () => keepRecord(server, await world.newRecord());

describe("POST /v1/address/{address}/sent", () => {
  test("returns 400 unless the body names either a token or a transaction", async () => {
    const { address } = await openRecord();
    const transactionHash = `0x${"1".repeat(64)}`;
    for (const body of [{}, { token: plain, transactionHash }, { token: "0x12" }, { other: 1 }]) {
      const response = await report(address, body);
      assert.equal(response.statusCode, 400, response.body);
      assert.equal(response.json().error.code, "invalid_request");
    }
  });

  test("returns 404 `not_found` for an address without an intent", async () => {
    const response = await report(plain, { token: plain });
    assert.equal(response.statusCode, 404);
  });

  test("returns 429 `rate_limited` for many requests from one network", async () => {
    const { address } = await openRecord();
    const codes: number[] = [];
    for (let at = 0; at < 12; at++) {
      const { statusCode } = await report(address, { token: plain }, server, "198.51.100.7");
      codes.push(statusCode);
    }
    assert.deepEqual(codes.slice(0, 10), Array(10).fill(200));
    assert.ok(codes.slice(10).includes(429), codes.join());
  });

  test("returns 503 with the limit, and logs nothing, for too many reports", async () => {
    const { address } = await openRecord();
    const busy = await startApp({ store, chains: server.parts.chains });
    const { accounts } = busy.parts;
    // The limiter's clock does not advance, so the limit admits no more requests during the test.
    accounts.limiter = memoryLimiter(() => 0);
    const { reportsOnChain } = internalPolicies;
    for (let at = 0; at < reportsOnChain.burst - 1; at++)
      await accounts.limiter.take(`${reportsOnChain.name} ${chainId}`, reportsOnChain);
    await sentTo(address, { token: plain }, busy);
    const response = await report(address, { token: plain }, busy);
    assert.equal(response.statusCode, 503, response.body);
    const { code, message } = response.json().error;
    assert.equal(code, "service_unavailable");
    const limit = describePolicy(reportsOnChain, `reports for chain ${chainId}`);
    assert.ok(message.startsWith(`expected at most ${limit}, for all clients`), message);
    assert.equal(response.headers["retry-after"], "1");
    assert.deepEqual(busy.logged, []);
    await busy.app.close();
  });

  test("returns `unknown_transaction` for a hash that is not on the chain", async () => {
    const { address } = await openRecord();
    const transactionHash = `0x${randomBytes(32).toString("hex")}`;
    const { problem, tokens } = await sentTo(address, { transactionHash });
    assert.deepEqual([problem, tokens], ["unknown_transaction", []]);
  });

  test("returns `pays_nothing_here` for a payment to another address", async () => {
    const { address } = await openRecord();
    const { transactionHash } = await world.pay(plain, 5n, plain);
    const { problem, tokens } = await sentTo(address, { transactionHash });
    assert.deepEqual([problem, tokens], ["pays_nothing_here", []]);
  });

  test("returns `payment` for the token of an open intent", async () => {
    const { address, intent } = await openRecord();
    await world.pay(address, 1n);
    assert.equal(await fateOf(address, intent.token), "payment");
  });

  test("returns `automatic` for another listed token", async () => {
    const record = await keepRecord(server, await world.newRecord({ token: plain }));
    await world.pay(record.address, 9n, listed);
    assert.equal(await fateOf(record.address, listed), "automatic");
  });

  test("returns `empty` for a token that the address does not have", async () => {
    const { address } = await openRecord();
    assert.equal(await fateOf(address, plain), "empty");
    assert.equal(await fateOf(address, address), "empty");
  });

  test("returns the decimals, but omits a symbol with hidden characters", async () => {
    const { address } = await openRecord();
    for (const [symbol, shown] of [
      ["FAIR", "FAIR"],
      ["\u202eRIAF", null],
    ] as const) {
      const token = await world.newToken(symbol);
      await world.pay(address, 9n, token);
      const [found] = (await sentTo(address, { token })).tokens;
      assert.deepEqual([found!.symbol, found!.decimals], [shown, 6]);
    }
  });

  test("returns `left_to_owner` if the operator disabled automatic returns", async () => {
    const executorClient = openExecutorClient(store, log, 0);
    const off = await startApp({ store, chains: server.parts.chains, executorClient });
    const { address } = await openRecord();
    await world.pay(address, 5n, plain);
    assert.equal(await fateOf(address, plain, off), "left_to_owner");
    await off.app.close();
  });

  for (const [when, isExpired, tooMuch] of [
    ["before the expiration time", false, 235_000],
    ["after the expiration time", true, 420_000],
  ] as const) {
    test(`returns \`unmovable\` if a return needs too much gas ${when}`, async () => {
      const expirationTimestamp = Number((await world.client.getBlock()).timestamp) + 60;
      const change = isExpired ? { expirationTimestamp } : {};
      const { address } = await keepRecord(server, await world.newRecord(change));
      if (isExpired) await world.client.increaseTime({ seconds: 120 });
      for (const [transferGas, fate] of [
        [200_000, "queued"],
        [tooMuch, "unmovable"],
      ] as const) {
        const token = await deployOdd(world, "HookToken", "OddTokens");
        await world.pay(address, 5n, token);
        const abi = parseAbi(["function setHook(address)"]);
        const args = [await world.withCode(burnerOf(transferGas / 2))] as const;
        const functionName = "setHook";
        const hash = await world.client.writeContract({ address: token, abi, functionName, args });
        await world.client.waitForTransactionReceipt({ hash });
        assert.equal(await fateOf(address, token), fate, `${transferGas}`);
      }
    });
  }

  test("returns `over_limit` for a ninth token at one address", async () => {
    const { address } = await openRecord();
    const code = (await world.client.getCode({ address: plain }))!;
    const fates: string[] = [];
    for (let at = 0; at < 9; at++) {
      const copy = await world.withCode(code);
      await world.pay(address, 5n, copy);
      fates.push(await fateOf(address, copy));
    }
    assert.deepEqual(fates, [...Array(8).fill("queued"), "over_limit"]);
  });
});

/** Returns code that uses about `gas` by expanding and hashing memory. */
function burnerOf(gas: number): Hex {
  // Expanding memory to `words` words costs 3 * words + words ** 2 / 512 gas, and hashing it costs
  // 6 * words gas.
  const words = Math.round(256 * (Math.sqrt(81 + gas / 128) - 9));
  return `0x62${(32 * words).toString(16).padStart(6, "0")}5f205000`;
}

test(`POST /sent accepts at most ${reportedPerAccountDay} tokens per account and day`, async () => {
  const { address } = await openRecord();
  const { account_id } = await store.db
    .selectFrom("records")
    .select("account_id")
    .where("address", "=", Buffer.from(fromHex(address)))
    .executeTakeFirstOrThrow();
  const day = Math.floor(Number((await world.client.getBlock()).timestamp) / 86_400);
  const rows = Array.from({ length: reportedPerAccountDay }, () => ({
    ...{ chain_id: chainId, account_id, day, due_at: null, purpose_id: null },
    ...{ address: randomBytes(20), token: randomBytes(20) },
  }));
  await store.db.insertInto("executor_named").values(rows).execute();
  await world.pay(address, 5n, plain);
  assert.equal(await fateOf(address, plain), "over_limit");
});

/**
 * Starts a server whose first endpoint returns wrong balances and an invented transfer of `token`.
 */
async function serveWithLiar({ address }: AddressRecord, token: Hex) {
  const proxy = await startProxy(world.rpcUrl, ({ method, params }, answer) => {
    if (method === "eth_getTransactionReceipt" && answer.result) {
      const receipt = answer.result as { logs: object[] };
      const topics = [transferTopic, topicOf(plain), topicOf(address)];
      const log = { address: token, topics, data: `0x${"1".padStart(64, "0")}` };
      return { ...answer, result: { ...receipt, logs: [...receipt.logs, log] } };
    }
    const isProbe = method === "eth_call" && !(params[0] as { to?: Hex }).to;
    if (!isProbe || typeof answer.result !== "string") return answer;
    return { ...answer, result: `${answer.result.slice(0, -64)}${"f".repeat(64)}` };
  });
  after(proxy.stop);
  const [chain] = chainsAt(world).known;
  const chains = chainsOf([{ ...chain!, rpcUrls: [proxy.url, world.rpcUrl] }]);
  const liar = await startApp({ store, chains });
  after(() => liar.app.close());
  return liar;
}

test("POST /sent ignores a transfer that only one of two endpoints returns", async () => {
  const record = await openRecord();
  const two = await serveWithLiar(record, plain);
  const { transactionHash } = await world.pay(plain, 5n, plain);
  const byTransaction = await sentTo(record.address, { transactionHash }, two);
  assert.equal(byTransaction.problem, "pays_nothing_here");
  assert.equal(await fateOf(record.address, plain, two), "empty");
});
