// Tests POST /v1/address/check, and the dashboard's check. A check returns the record that a create
// request would return, but saves nothing.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, makeRecord, requireClosed, requireExecuted } from "executable-address";
import { chainsOf, startApp, type TestApp } from "../../testing/app.ts";
import { chainsAt, keepRecord } from "../../testing/app-on-chain.ts";
import { openBrowser } from "../../testing/browser.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";

let world: World;
let server: TestApp;
before(async () => {
  world = await startWorld();
  server = await startApp({ chains: chainsAt(world) });
});
after(async () => {
  await server.close();
  await world.stop();
});

const post = (path: string, apiKey: string, body: unknown, to = server) =>
  to.app.inject({
    method: "POST",
    url: `/v1/address/${path}`,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    payload: JSON.stringify(body),
  });

/**
 * Returns an intent that pays five whole tokens to the shop. The chain's clock determines the
 * expiration time.
 */
const newIntent = async () => (await world.newRecord({ amount: "5000000" })).intent;

describe("POST /v1/address/check", () => {
  test("returns 400 with the same errors as `create`", async () => {
    const { apiKey } = await server.newKey();
    const wrong = { ...(await newIntent()), amount: "01", recovery: "0x", more: 1 };
    const [checked, created] = [
      await post("check", apiKey, wrong),
      await post("create", apiKey, wrong),
    ];
    assert.equal(checked.statusCode, 400);
    assert.deepEqual(checked.json().error.issues, created.json().error.issues);
  });

  test("returns 429 after 30 requests of one account in a burst", async () => {
    const [busy, other] = [await server.newKey(), await server.newKey()];
    const intent = await newIntent();
    const answers = await Promise.all(
      Array.from({ length: 31 }, () => post("check", busy.apiKey, intent)),
    );
    const refused = answers.filter(({ statusCode }) => statusCode === 429);
    assert.deepEqual(refused.length, 1);
    const { "retry-after": seconds, ratelimit } = refused[0]!.headers;
    assert.match(String(seconds), /^[12]$/);
    assert.equal(ratelimit, `"check";r=0;t=${seconds}`);
    assert.equal((await post("check", other.apiKey, intent)).statusCode, 200);
    assert.equal((await post("create", busy.apiKey, intent)).statusCode, 200);
  });

  test("returns 503 `chain_unavailable` if the chain's RPC is down", async () => {
    const cut = await startApp({ chains: chainsAt(world, "http://127.0.0.1:9") });
    const { apiKey } = await cut.newKey();
    const answer = await post("check", apiKey, await newIntent(), cut);
    assert.deepEqual([answer.statusCode, answer.json().error.code], [503, "chain_unavailable"]);
    assert.doesNotMatch(answer.body, /127\.0\.0\.1/);
    await cut.close();
  });

  test("returns the record and a simulation, and saves nothing", async () => {
    const { accountId, apiKey } = await server.newKey();
    const intent = await newIntent();
    const checked = await post("check", apiKey, intent);
    assert.equal(checked.statusCode, 200, checked.body);
    assert.equal(checked.headers["cache-control"], "no-store");
    const { record, simulation, findings } = checked.json();
    assert.deepEqual([simulation.outcome, simulation.fundingAssumed], ["succeeds", true]);
    // No token has been minted yet, so the amount exceeds the total supply.
    assert.deepEqual(
      findings.map(({ code }: { code: string }) => code),
      ["amount_beyond_supply"],
    );
    const lookup = await server.app.inject(`/v1/address/${record.address}`);
    assert.equal(lookup.statusCode, 404);
    await server.parts.accounts.usage.flush();
    const { db } = server.parts.store;
    const usage = db.selectFrom("usage").selectAll().where("account_id", "=", accountId);
    assert.deepEqual(await usage.execute(), []);
    assert.deepEqual((await post("create", apiKey, intent)).json(), record);
  });

  test("generates a salt if the intent has none", async () => {
    const { apiKey } = await server.newKey();
    const { salt: _, ...intent } = await newIntent();
    const { record } = (await post("check", apiKey, intent)).json();
    assert.deepEqual((await post("create", apiKey, record.intent)).json(), record);
  });

  test("reports conditions that refer to an address of another chain", async () => {
    const { apiKey } = await server.newKey();
    const here = await newIntent();
    const [own, foreign] = [makeRecord(here), makeRecord({ ...here, chainId: here.chainId + 1 })];
    const unknown = makeRecord({ ...here, chainId: here.chainId + 2 });
    for (const record of [own, foreign]) await keepRecord(server, record);
    const conditions = [requireExecuted, requireClosed].flatMap((require) =>
      [own, foreign, unknown].map((record: AddressRecord) =>
        require(record, record.intent.chainId),
      ),
    );
    const calls = [...here.calls, ...conditions];
    const { findings } = (await post("check", apiKey, { ...here, calls })).json();
    const found = findings.filter(
      ({ code }: { code: string }) => code === "condition_of_other_chain",
    );
    const belongs = `the address belongs to chain ${here.chainId + 1}: on chain ${here.chainId}`;
    assert.deepEqual(
      found.map(({ path, message }: { path: unknown[]; message: string }) => [path, message]),
      [
        [["calls", 2, "args", 0], `${belongs} this condition is never true`],
        [["calls", 5, "args", 0], `${belongs} anyone can make this condition true`],
      ],
    );
  });

  test("looks for code at `recovery` on mainnets, or on testnets for testnet intents", async () => {
    const recovery = await world.withCode("0x00f4");
    const [own] = chainsAt(world).known;
    const silent = { ...own!, rpcUrls: ["http://127.0.0.1:9"] };
    const unreadNames = async (isTestnet: boolean) => {
      const known = [
        { ...own!, isTestnet },
        { ...silent, chainId: 10, name: "Testnet Holdings", isTestnet: false },
        { ...silent, chainId: 11_155_111, name: "Sepolia", isTestnet: true },
      ];
      const some = await startApp({ chains: chainsOf(known) });
      const { apiKey } = await some.newKey();
      const { notes } = (
        await post("check", apiKey, { ...(await newIntent()), recovery }, some)
      ).json();
      await some.close();
      const unmeasured = notes.find(({ code }: { code: string }) => code === "recovery_unmeasured");
      return unmeasured.message.split(" did not respond")[0];
    };
    assert.equal(await unreadNames(false), "Testnet Holdings");
    assert.equal(await unreadNames(true), "Sepolia");
  });

  test("accepts a session of the dashboard", async () => {
    const browser = openBrowser(server);
    assert.equal((await browser.post("/dashboard/api/check", {})).statusCode, 401);
    await browser.signUp("ada@example.com");
    const intent = await newIntent();
    const answer = await browser.post("/dashboard/api/check", intent);
    assert.equal(answer.statusCode, 200, answer.body);
    assert.deepEqual(answer.json().record.intent, intent);
    assert.equal((await browser.post("/dashboard/api/check", {})).statusCode, 400);
  });
});
