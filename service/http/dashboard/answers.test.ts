// Checks that every response of the dashboard's API has exactly the fields that answers.ts
// describes.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fits, type Shape } from "executable-address/shapes";
import { startApp, type TestApp, testChains } from "../../testing/app.ts";
import { type Browser, openBrowser } from "../../testing/browser.ts";
import { buildApp } from "../app.ts";
import { createMetrics } from "../metrics.ts";
import { type Operation, operations } from "../openapi/operations.ts";
import { answers } from "./answers.ts";

const api = "/dashboard/api";
const origin = "https://shop.example.com";

/** The operations that the dashboard shares with the public API. */
const shared = Object.values<Operation>(operations)
  .filter(({ tag }) => tag === "webhooks")
  .map(({ method, path, answer }) => [`${method} ${path}`, answer as Shape] as const);
const described: Record<string, Shape> = { ...answers, ...Object.fromEntries(shared) };

describe("the schemas of the dashboard's API", () => {
  let service: TestApp;
  let browser: Browser;
  before(async () => {
    service = await startApp();
    browser = openBrowser(service);
    await browser.signUp("ada@example.com");
  });
  after(() => service.close());

  test("describe exactly the existing routes", async () => {
    const mounted = new Set<string>();
    const app = buildApp({ ...service.parts, metrics: createMetrics() });
    app.addHook("onRoute", ({ url, method }) => {
      if (!url.startsWith(api) || method === "HEAD") return;
      mounted.add(`${method} ${url.slice(api.length).replace(/:(\w+)/g, "{$1}")}`);
    });
    await app.ready();
    await app.close();
    // The public API describes the responses of these routes.
    for (const each of ["GET /addresses", "POST /addresses", "POST /check"]) mounted.delete(each);
    assert.deepEqual([...mounted].sort(), Object.keys(described).sort());
  });

  test("contain exactly the fields of the responses", async () => {
    const asked = new Set<string>();
    const ask = async (route: string, input?: object, at = route) => {
      const [method, path] = at.split(" ") as ["GET" | "POST" | "DELETE", string];
      const sent = await browser.ask(method, api + path, input);
      assert.equal(sent.statusCode, 200, `${route}: ${sent.body}`);
      assert.ok(fits(described[route]!, sent.json()), `${route}: ${sent.body}`);
      assert.deepEqual(strangersIn(described[route]!, sent.json()), [], route);
      asked.add(route);
      return sent.json();
    };
    await ask("GET /config");
    await ask("GET /session");
    await ask("GET /account");
    await ask("GET /usage");
    await ask("GET /activity");
    await ask("GET /money");
    await ask("GET /sessions");
    await ask("POST /credentials/api-key", {});
    const { apiKeys, clientId } = await ask("GET /credentials");
    const { prefix } = apiKeys[0];
    await ask("POST /credentials/api-key/rotate", { prefix });
    const [rotated] = (await ask("GET /credentials")).apiKeys;
    await ask("DELETE /credentials/api-key", { prefix: rotated.prefix });
    await ask("POST /credentials/client-id/bound", { bound: true });
    await ask("POST /credentials/client-id/may-name", { mayName: false });
    await ask("POST /credentials/client-id/rotate", { clientId: clientId.clientId });
    await ask("POST /credentials/reference-key/rotate", {});
    await ask("POST /origins", { origin });
    await ask("GET /origins");
    for (const input of [{ entry: origin }, { entry: "x" }, { origin }, {}])
      await ask("POST /origins/verdict", input);
    await ask("DELETE /origins", { origin });
    const strange = `GET /statuses?addresses=0x${"1".repeat(40)}`;
    await ask("GET /statuses", undefined, strange);
    const { chainId } = testChains.known[0]!;
    await ask("POST /webhooks/confirmations", { chainId, confirmations: 3 });
    const { id } = await ask("POST /webhooks", { url: `${origin}/hook` });
    await ask("GET /webhooks");
    const at = (route: string) => route.replace("{id}", id);
    const span = { from: "2026-01-01T00:00:00Z", until: "2026-01-02T00:00:00Z" };
    for (const [route, input] of [
      ["GET /webhooks/{id}"],
      ["POST /webhooks/{id}/pause", {}],
      ["POST /webhooks/{id}/resume", {}],
      ["POST /webhooks/{id}/rotate", {}],
      ["POST /webhooks/{id}/test", {}],
      ["POST /webhooks/{id}/replay", span],
      ["GET /webhooks/{id}/deliveries"],
      ["DELETE /webhooks/{id}", {}],
    ] as const)
      await ask(route, input, at(route));
    const { items } = await ask("GET /sessions");
    await ask("DELETE /sessions", { id: items[0].id });
    assert.deepEqual([...asked].sort(), Object.keys(described).sort());
  });
});

/** Returns the paths of the fields in `value` that the schema does not describe. */
function strangersIn({ properties, items, anyOf }: Shape, value: unknown, at = ""): string[] {
  if (anyOf) {
    const found = anyOf
      .filter((each) => fits(each, value))
      .map((each) => strangersIn(each, value, at));
    return found.sort((a, b) => a.length - b.length)[0] ?? [];
  }
  if (items)
    return (value as unknown[]).flatMap((each, i) => strangersIn(items, each, `${at}.${i}`));
  if (!properties) return [];
  return Object.entries(value as object).flatMap(([name, each]) => {
    const field = properties[name];
    return field ? strangersIn(field, each, `${at}.${name}`) : [`${at}.${name}`];
  });
}
