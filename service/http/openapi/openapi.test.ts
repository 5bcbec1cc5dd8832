// Tests that spec/openapi.json describes the routes, events, and error codes of the API.

import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { eventTypes } from "executable-address/webhook";
import { exchange, startApp, type TestApp, testChains } from "../../testing/app.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { codesOf, document, documentedCodes, judgeAs, judgeEvent } from "../../testing/openapi.ts";
import {
  intentPaths,
  newClientId,
  origin,
  strange,
  writeEvent,
} from "../../testing/openapi-answers.ts";
import { addTestDelivery } from "../../webhooks/deliveries/enqueue.ts";
import { addEndpoint } from "../../webhooks/endpoints.ts";
import { buildApp } from "../app.ts";
import { statuses } from "../errors.ts";
import { createMetrics } from "../metrics.ts";
import { type Operation, operations } from "./operations.ts";

let world: World;
let service: TestApp;

before(async () => {
  world = await startWorld(1);
  service = await startApp({ chains: { ...testChains, rpcOf: () => world.chain.rpc } });
});
after(async () => {
  await service.close();
  await world.stop();
});

test("spec/openapi.json documents exactly the existing routes and methods", async () => {
  const mounted = new Set<string>();
  const app = buildApp({ ...service.parts, metrics: createMetrics() });
  app.addHook("onRoute", ({ url }) => {
    if (url.startsWith("/v1")) mounted.add(url.slice(3).replace(/:(\w+)/g, "{$1}"));
  });
  await app.ready();
  assert.deepEqual(mounted, new Set(Object.keys(document.paths)));
  for (const [path, operations] of Object.entries(document.paths)) {
    const response = await app.inject({ method: "OPTIONS", url: `/v1${path}` });
    judgeAs(response, "Preflight");
    const named = (["get", "post", "delete"] as const).filter((method) => operations[method]);
    const own = named.map((method) => method.toUpperCase());
    // GET /address/create is a lookup of the invalid address "create", so it returns 400 and not
    // 405.
    if (intentPaths.includes(path)) own.push("GET");
    if (own.includes("GET")) own.push("HEAD");
    assert.deepEqual(
      String(response.headers.allow).split(", ").sort(),
      [...own, "OPTIONS"].sort(),
      path,
    );
  }
  await app.close();
});

/** Returns the code of the refusal if a credential is missing or has the wrong kind. */
async function refusalOf({ method, path }: Operation, headers: Record<string, string>) {
  const url = `/v1${path.replace("{address}", strange).replace("{id}", "x")}`;
  const response = await service.app.inject({ method, url, headers });
  return [401, 403].includes(response.statusCode) ? response.json().error.code : undefined;
}

test("each operation refuses exactly the credentials that it does not describe", async () => {
  const clientId = { "x-client-id": await newClientId(service), origin };
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    const { credentials } = operation;
    const isPublic = credentials.length === 0;
    const isOpen = isPublic || credentials.includes("clientId");
    const found = [await refusalOf(operation, {}), await refusalOf(operation, clientId)];
    const expected = [isPublic ? undefined : "unauthorized", isOpen ? undefined : "forbidden"];
    assert.deepEqual(found, expected, id);
  }
});

describe("spec/openapi.json", () => {
  test("documents the body of each type of event", async () => {
    const { accountId } = await service.newKey();
    assert.deepEqual(Object.keys(document.webhooks), [...eventTypes, "webhook.test"]);
    const [first] = eventTypes;
    for (const type of eventTypes) {
      const body = JSON.parse(await writeEvent(world, type));
      judgeEvent(type, body);
      assert.equal(body.version, 1);
      assert.equal(body.data.payment !== null, type === "address.payment");
      if (type !== first) assert.throws(() => judgeEvent(first, body), /must be equal to constant/);
    }
    const { db } = service.parts.store;
    const input = { url: "https://a.example", types: [], targets: "public" } as const;
    const { id } = await addEndpoint(db, accountId, input, { atMs: 1 });
    await addTestDelivery(db, id, Date.now());
    const sent = await db
      .selectFrom("webhook_deliveries")
      .select("body")
      .where("endpoint_id", "=", id)
      .executeTakeFirstOrThrow();
    judgeEvent("webhook.test", JSON.parse(sent.body!));
  });

  test("documents the responses 404 and 405", async () => {
    judgeAs(await service.app.inject({ url: "/v1/nothing" }), "UnknownPath");
    judgeAs(await service.app.inject({ method: "PUT", url: "/v1/chains" }), "MethodNotAllowed");
  });

  test("documents the responses 400, 417, and 431 to invalid HTTP", async () => {
    await service.app.listen({ host: "127.0.0.1", port: 0 });
    const long = `GET /v1/chains HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
    const expecting = "GET /v1/chains HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n";
    judgeAs(await raw(service, "NONSENSE\r\n\r\n"), "NotHttp");
    judgeAs(await raw(service, long), "HeadersOverflow");
    judgeAs(await raw(service, expecting), "ExpectationFailed");
  });
});

test("spec/openapi.json documents every error code with its status", () => {
  const dashboardOnly = new Set(
    `invalid_email invalid_password password_too_short password_too_long password_guessable
    invalid_token invalid_email_or_password signup_closed user_already_exists`.split(/\s+/),
  );
  const unowned = {
    UnknownPath: 404,
    MethodNotAllowed: 405,
    RequestTimeout: 408,
    ExpectationFailed: 417,
  };
  const found = documentedCodes();
  for (const [name, status] of Object.entries(unowned)) {
    for (const code of codesOf(document["x-responses"][name]!)) found.add(`${status} ${code}`);
  }
  const table = Object.entries(statuses).filter(([code]) => !dashboardOnly.has(code));
  assert.deepEqual([...found].sort(), table.map(([code, status]) => `${status} ${code}`).sort());
});

/** Sends raw bytes, which no HTTP client would send, and returns the response. */
async function raw({ app }: TestApp, bytes: string) {
  const { port } = app.addresses()[0] as AddressInfo;
  const text = await exchange(port, bytes);
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => {
    const [name = "", value] = line.split(": ");
    return [name.toLowerCase(), value];
  });
  return { statusCode: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), body };
}
