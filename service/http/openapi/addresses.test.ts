// Tests that responses about single addresses and about the service match spec/openapi.json.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Hex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import { headMsMax } from "../../chain/rpc/heads.ts";
import { CorruptError, UnavailableError } from "../../store/store.ts";
import { newIntent, startApp, type TestApp, testChains } from "../../testing/app.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { document, judge, judgeStatus } from "../../testing/openapi.ts";
import {
  checkAnswers,
  intentPaths,
  manyHeaders,
  newClientId,
  origin,
  strange,
} from "../../testing/openapi-answers.ts";
import { bodyBytesMax } from "../app.ts";
import { streamEvents } from "../status/events.ts";
import { operations } from "./operations.ts";

const call = { function: "visit()", args: [] };
/** The paths without any input, which cannot return 400. */
const constant = ["/chains", "/openapi.json"];
/** Returns whether the path reads an address and requires no credential. */
const isPublic = (path: string) => path.includes("{address}") && !/\/(mine|sent)$/.test(path);
let world: World;
let service: TestApp;
let answers: ReturnType<typeof checkAnswers>;

before(async () => {
  world = await startWorld(1);
  const find = () => ({ ...testChains.find(1)!, rpcUrls: [world.rpcUrl] });
  service = await startApp({ chains: { ...testChains, find, rpcOf: () => world.chain.rpc } });
  answers = checkAnswers(service);
});
after(async () => {
  await service.close();
  await world.stop();
});

describe("the routes for single addresses and the service return documented responses", () => {
  test("with 400, 401, or 403 for a wrong credential", async () => {
    const { apiKey } = await service.newKey();
    const clientId = await newClientId(service);
    const authorization = `Bearer ${apiKey}`;
    const refused: [number, string, Record<string, string>][] = [
      [401, "unauthorized", {}],
      [401, "unauthorized", { authorization: `Bearer svc_sk_${"0".repeat(64)}` }],
      [400, "invalid_request", { authorization, "x-client-id": clientId }],
      [403, "api_key_in_browser", { authorization, origin }],
      [403, "origin_required", { "x-client-id": clientId }],
      [403, "origin_not_allowed", { "x-client-id": clientId, origin: "https://evil.example.com" }],
    ];
    for (const [status, code, headers] of refused) {
      const request = { method: "POST", headers, payload: "{}" } as const;
      for (const path of intentPaths) {
        const response = await answers.expect(status, path, request);
        assert.equal(response.json().error.code, code);
      }
    }
  });

  test("with the documented errors for an invalid create or check request", async () => {
    const fields = Object.keys(newIntent());
    const wrong = JSON.stringify(Object.fromEntries(fields.map((field) => [field, 0])));
    for (const path of intentPaths) {
      const post = (status: number, more: Parameters<typeof answers.create>[1]) =>
        answers.create(status, more, service, path);
      await post(400, { payload: "{" });
      await post(400, { payload: wrong });
      const { apiKey } = await service.newKey();
      await answers.expect(400, path, {
        method: "POST",
        url: `/v1${path}?refrence=order-42`,
        headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
        payload: JSON.stringify(newIntent()),
      });
      await post(413, { payload: Buffer.alloc(bodyBytesMax + 1) });
      await post(415, { headers: { "content-type": "text/plain" } });
      await post(431, { headers: manyHeaders });
    }
    const clientId = await newClientId(service);
    const headers = { "x-client-id": clientId, origin, "content-type": "application/json" };
    const request = { method: "POST", url: "/v1/address/create", headers, payload: "{}" } as const;
    for (const path of intentPaths) {
      await answers.expectLimit(path, { ...request, url: `/v1${path}` });
    }
  });

  test("with 200 and 304 for `create` and `lookup`", async () => {
    const created = await answers.create(200);
    const clientId = await newClientId(service);
    const headers = { "x-client-id": clientId, origin };
    await answers.expect(200, "/address/create", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      payload: JSON.stringify(newIntent()),
    });
    answers.subject.address = created.json().address;
    const { etag } = (await answers.expect(200, "/address/{address}", {})).headers;
    await answers.expect(304, "/address/{address}", { headers: { "if-none-match": String(etag) } });
    await answers.expect(200, "/address/{address}", { method: "HEAD" });
    await answers.expect(200, "/chains", {});
    assert.deepEqual((await answers.expect(200, "/openapi.json", {})).json(), document);
  });

  test("with 409 if another address has the reference", async () => {
    const { apiKey } = await service.newKey();
    const create = (status: number) =>
      answers.expect(status, "/address/create", {
        method: "POST",
        url: "/v1/address/create?reference=order-42",
        headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
        payload: JSON.stringify(newIntent()),
      });
    await create(200);
    await create(409);
  });

  test("with 200, 429, 500, or 503 for a check", async () => {
    const check = (status: number, to = service) =>
      answers.create(status, { payload: JSON.stringify(intent) }, to, "/address/check");
    const { intent } = await world.newRecord({ token: newIntent().token });
    // The listed token `intent.token` has no code on this chain, so it is given the code of
    // `world.token`.
    await world.client.setCode({
      address: intent.token,
      bytecode: (await world.client.getCode({ address: world.token }))!,
    });
    const { findings } = (await check(200)).json();
    assert.ok(findings.length > 0);
    const { apiKey } = await service.newKey();
    await answers.expectLimit("/address/check", {
      method: "POST",
      url: "/v1/address/check",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      payload: JSON.stringify(intent),
    });
    const cut = await startApp();
    await check(503, cut);
    cut.parts.accounts.limiter.take = () => Promise.reject(new Error("lost"));
    await check(500, cut);
    await cut.close();
  });

  test("with 200 or 503 for a status", async () => {
    const record = await answers.save(await world.newRecord());
    const until = async (isThere: (status: AddressStatus) => boolean) => {
      // The service returns a cached status until it has read a new block.
      for (;;) {
        const status = (await answers.expect(200, "/address/{address}/status", {})).json();
        if (isThere(status)) return;
      }
    };
    await until(({ state }) => state === "unfunded");
    await world.pay(record.address, 100n);
    await until(({ state }) => state === "funded");
    await world.execute(record);
    await world.pay(record.address, 5n);
    await until(({ execution, recoverable }) => execution !== null && recoverable.length > 0);
    await world.recover(record, [world.token]);
    await until(({ recoveries }) => recoveries.length > 0);
    const cut = await startApp();
    await answers.save(await world.newRecord(), cut);
    await answers.expect(503, "/address/{address}/status", {}, cut);
    await cut.close();
  });

  test("with 200 for the returns of an address", async () => {
    const record = await answers.save(await world.newRecord());
    await answers.expect(200, "/address/{address}/returns", {});
    const cut = await startApp();
    await answers.save(record, cut);
    await answers.expect(200, "/address/{address}/returns", {}, cut);
    await cut.close();
  });

  test("with 200, 429, or 503 for a simulation", async () => {
    const simulated = async () =>
      (await answers.expect(200, "/address/{address}/simulation", {})).json().outcome;
    await answers.save(await world.newRecord());
    assert.equal(await simulated(), "succeeds");
    await answers.save(await world.newRecord({ calls: [{ ...call, target: strange as Hex }] }));
    assert.equal(await simulated(), "fails");
    const done = await answers.save(await world.newRecord());
    await world.pay(done.address, 100n);
    await world.execute(done);
    // Waits until the service has read the new block. The interval keeps the number of requests
    // below the rate limit's burst of 30.
    while ((await simulated()) !== "impossible") await setTimeout(headMsMax);
    await answers.expectLimit("/address/{address}/simulation", {
      method: "GET",
      url: `/v1/address/${done.address}/simulation`,
      remoteAddress: "203.0.113.1",
    });
    const cut = await startApp();
    await answers.save(await world.newRecord(), cut);
    await answers.expect(503, "/address/{address}/simulation", {}, cut);
    await cut.close();
  });

  test("with 200, 304, 400, 429, or 503 for a proof", async () => {
    const { address: its } = await answers.save(await world.newRecord());
    await answers.expect(200, "/address/{address}/proof", {});
    await world.pay(its, 100n);
    const at = (block: unknown) => ({ url: `/v1/address/${its}/proof?block=${block}` });
    const last = at((await world.client.getBlock()).number);
    const { etag } = (await answers.expect(200, "/address/{address}/proof", last)).headers;
    const headers = { "if-none-match": String(etag) };
    await answers.expect(304, "/address/{address}/proof", { ...last, headers });
    const refused = (await answers.expect(400, "/address/{address}/proof", at("safe"))).json();
    assert.match(refused.error.message, /^block: expected "latest".* found "safe"$/);
    const unknown = { url: `/v1/address/${its}/proof?blok=finalized` };
    const { issues } = (await answers.expect(400, "/address/{address}/proof", unknown)).json()
      .error;
    assert.equal(issues[0].code, "unrecognized_keys");
    await answers.expect(503, "/address/{address}/proof", at(999_999));
    await answers.expectLimit("/address/{address}/proof", {
      ...last,
      method: "GET",
      remoteAddress: "203.0.113.1",
    });
  });

  test("with 200, 429, or each documented error for a reported token", async () => {
    const path = "/address/{address}/sent";
    let clients = 0;
    const report = (status: number, more: object = {}, to = service) =>
      answers.expect(
        status,
        path,
        {
          method: "POST",
          remoteAddress: `203.0.113.${++clients}`,
          headers: { "content-type": "application/json" },
          payload: JSON.stringify({ token: world.token }),
          ...more,
        } as never,
        to,
      );
    answers.subject.address = strange;
    await report(404);
    await report(400, { url: "/v1/address/0x12/sent" });
    const { address } = await answers.save(await world.newRecord());
    await report(400, { payload: "{}" });
    await report(413, { payload: Buffer.alloc(bodyBytesMax + 1) });
    await report(415, { headers: { "content-type": "text/plain" } });
    await report(431, { headers: manyHeaders });
    const other = await world.newToken();
    const { transactionHash } = await world.pay(address, 7n, other);
    const payload = JSON.stringify({ transactionHash });
    const { tokens } = (await report(200, { payload })).json();
    // No executor runs on this chain, so the service cannot return the token.
    const found = { token: other, amount: "7", symbol: "DMO", decimals: 6, notBefore: null };
    assert.deepEqual(tokens, [{ ...found, fate: "left_to_owner" }]);
    await answers.expectLimit(path, {
      method: "POST",
      url: `/v1/address/${address}/sent`,
      headers: { "content-type": "application/json" },
      payload,
    });
    const cut = await startApp();
    await answers.save(await world.newRecord(), cut);
    await report(503, {}, cut);
    cut.parts.store.findTerms = async () => new Uint8Array(32);
    await report(500, {}, cut);
    await cut.close();
  });

  test("with 200 for an event stream, which begins with the current status", async () => {
    await answers.save(await world.newRecord());
    const base = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const response = await fetch(`${base}/v1/address/${answers.subject.address}/events`);
    const headers = Object.fromEntries(response.headers);
    judge({ statusCode: response.status, headers, body: "" }, "/address/{address}/events", "get");
    answers.seen.add("get /address/{address}/events 200");
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("event: status") && text.endsWith("\n\n")) break;
    }
    judgeStatus(JSON.parse(/^data: (.*)$/m.exec(text)![1]!));
  });

  test("with each event of a stream in the description of the stream", () => {
    for (const name of streamEvents) {
      assert.match(operations.streamStatus.answers, new RegExp(`\`${name}\` event`));
    }
  });

  test("with 400, 404, or 431 for each path with an address", async () => {
    for (const path of Object.keys(document.paths)) {
      if (!isPublic(path)) continue;
      await answers.expect(400, path, { url: `/v1${path.replace("{address}", "0x12")}` });
      await answers.expect(404, path, { url: `/v1${path.replace("{address}", strange)}` });
      await answers.expect(431, path, { headers: manyHeaders });
    }
    for (const path of constant) await answers.expect(431, path, { headers: manyHeaders });
  });

  test("with 500 for a corrupt record and 503 while the database does not respond", async () => {
    const failing = await startApp();
    const { store } = failing.parts;
    const paths = Object.keys(document.paths).filter(isPublic);
    store.findTerms = async () => new Uint8Array(32);
    store.findRecord = () => Promise.reject(new CorruptError("not served"));
    store.saveRecord = () => Promise.reject(new Error("a fault"));
    for (const path of paths) await answers.expect(500, path, {}, failing);
    await answers.create(500, {}, failing);
    store.findTerms = () => Promise.reject(new UnavailableError("away"));
    store.findRecord = store.findTerms as never;
    store.saveRecord = store.findTerms as never;
    for (const path of paths) await answers.expect(503, path, {}, failing);
    await answers.create(503, {}, failing);
    await failing.close();
  });

  test("with every documented status in the tests above", () => {
    // The responses of these paths are constants in memory, so these paths cannot return 500.
    for (const path of constant) answers.seen.add(`get ${path} 500`);
    answers.assertAllSeen(["addresses", "service"]);
  });
});
