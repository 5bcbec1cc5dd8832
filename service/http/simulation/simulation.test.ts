import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { startApp } from "../../testing/app.ts";
import { chainsAt, keepRecord, serveWorld } from "../../testing/app-on-chain.ts";
import { createMetrics } from "../metrics.ts";

const { world, server, get: getPath, stop } = await serveWorld();
after(stop);

const get = (address: string, from = server) => getPath(`${address}/simulation`, from);

describe("GET /v1/address/{address}/simulation", () => {
  test("returns 400 `invalid_request` for anything but an address", async () => {
    const answer = await get("0x12");
    assert.deepEqual([answer.statusCode, answer.json().error.code], [400, "invalid_request"]);
  });

  test("returns 404 `not_found` if no intent is stored", async () => {
    const answer = await get(`0x${"5a".repeat(20)}`);
    assert.equal(answer.statusCode, 404);
    assert.deepEqual([answer.json().error.code, answer.json().error.issues], ["not_found", []]);
    assert.equal(answer.headers["cache-control"], "no-store");
  });

  test("returns 503 with `Retry-After` if the chain's RPC fails", async () => {
    const cut = await startApp({ chains: chainsAt(world, "http://127.0.0.1:9") });
    const { address } = await keepRecord(cut, await world.newRecord());
    const answer = await get(address, cut);
    assert.deepEqual([answer.statusCode, answer.json().error.code], [503, "chain_unavailable"]);
    assert.equal(answer.headers["retry-after"], "2");
    assert.equal(answer.headers["access-control-allow-origin"], "*");
    assert.doesNotMatch(answer.body, /127\.0\.0\.1/);
    await cut.close();
  });

  test("returns 503 with the exceeded limit of calls to the chain, and logs nothing", async () => {
    const metrics = createMetrics();
    const spent = await startApp({
      chains: chainsAt(world),
      limits: { simulationCallsPerMinute: 1 },
      metrics,
    });
    const { address } = await keepRecord(spent, await world.newRecord());
    const answer = await get(address, spent);
    const { code, message } = answer.json().error;
    assert.deepEqual([answer.statusCode, code], [503, "service_unavailable"]);
    const limit = /^expected at most 1 RPC calls per minute for "simulation" on chain 31337,/;
    assert.match(message, limit);
    assert.equal(answer.headers["retry-after"], /try again in (\d+) s$/.exec(message)?.[1]);
    assert.deepEqual(spent.logged, []);
    const counted = await metrics.registry.getSingleMetricAsString(
      "http_shared_limit_refusals_total",
    );
    assert.match(counted, /\{limit="simulation-calls",chain="31337"\} 1/);
    await spent.close();
  });

  test("returns 503 for a chain that is no longer configured", async () => {
    const gone = await startApp({ chains: { ...chainsAt(world), find: () => undefined } });
    const { address } = await keepRecord(gone, await world.newRecord());
    const answer = await get(address, gone);
    assert.deepEqual([answer.statusCode, answer.json().error.code], [503, "chain_unavailable"]);
    await gone.close();
  });

  test("answers POST with 405", async () => {
    const url = `/v1/address/0x${"5a".repeat(20)}/simulation`;
    assert.equal((await server.app.inject({ method: "POST", url })).statusCode, 405);
  });

  test("returns the effect of a payment, allows any origin, and forbids caching", async () => {
    const record = await keepRecord(server, await world.newRecord());
    const answer = await get(record.address.toLowerCase());
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.headers["cache-control"], "no-store");
    assert.equal(answer.headers["access-control-allow-origin"], "*");
    const { address, outcome, fundingAssumed, changes } = answer.json();
    assert.deepEqual([address, outcome, fundingAssumed], [record.address, "succeeds", true]);
    assert.deepEqual(
      changes.map(({ symbol, change }: { symbol: string; change: string }) => [symbol, change]),
      [
        ["DMO", "-100"],
        ["DMO", "100"],
      ],
    );
  });
});
