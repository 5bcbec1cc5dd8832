import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApp, type TestApp } from "../../testing/app.ts";
import { openBrowser } from "../../testing/browser.ts";

describe("/dashboard/api/webhooks", () => {
  let service: TestApp;
  before(async () => {
    service = await startApp({ webhookTargets: "public" });
  });
  after(() => service.close());

  async function newBrowser() {
    const browser = openBrowser(service);
    await browser.signUp(`${Math.random()}@example.com`);
    return browser;
  }
  const url = "https://shop.example.com/hook";
  const api = "/dashboard/api/webhooks";

  test("401 without a session, 404 for another account's endpoint", async () => {
    assert.equal((await service.app.inject({ url: api })).statusCode, 401);
    const [mine, other] = [await newBrowser(), await newBrowser()];
    const { id } = (await mine.post(api, { url })).json();
    for (const path of ["rotate", "test"]) {
      assert.equal((await other.post(`${api}/${id}/${path}`, {})).statusCode, 404);
    }
    assert.equal((await other.get(`${api}/${id}/deliveries`)).statusCode, 404);
    assert.deepEqual((await other.get(api)).json().endpoints, []);
  });

  test("400 for a URL that leads inside, an unknown type, the eleventh endpoint", async () => {
    const browser = await newBrowser();
    for (const [input, field] of [
      [{ url: "http://shop.example.com/" }, "url"],
      [{ url: "https://169.254.169.254/latest" }, "url"],
      [{ url: "https://localhost/" }, "url"],
      [{ url, types: ["address.paid"] }, "types"],
    ] as const) {
      const response = await browser.post(api, input);
      assert.equal(response.statusCode, 400);
      assert.equal(response.json().error.issues[0].path[0], field);
    }
    for (let i = 0; i < 10; i++) assert.equal((await browser.post(api, { url })).statusCode, 200);
    assert.equal((await browser.post(api, { url })).json().error.issues[0].code, "too_many");
  });

  test("a secret is shown when it is made and when it is rotated, and never again", async () => {
    const browser = await newBrowser();
    const added = (await browser.post(api, { url, types: ["address.executed"] })).json();
    assert.match(added.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const rotated = (await browser.post(`${api}/${added.id}/rotate`, {})).json();
    assert.notEqual(rotated.secret, added.secret);
    const listed = await browser.get(api);
    assert.ok(!listed.body.includes("whsec_"));
    const [endpoint] = listed.json().endpoints;
    assert.deepEqual([endpoint.url, endpoint.types, endpoint.state], [url, added.types, "active"]);
    assert.ok(endpoint.oldSecretUntil);
    assert.match(listed.json().publicKey, /^whpk_/);
  });

  test("paused, resumed, tested, replayed, with depth of its own, and removed", async () => {
    const browser = await newBrowser();
    const { id } = (await browser.post(api, { url })).json();
    const paused = await browser.post(`${api}/${id}/pause`, { paused: true });
    assert.equal(paused.json().state, "paused");
    assert.equal((await browser.post(`${api}/${id}/test`, {})).statusCode, 409);
    await browser.post(`${api}/${id}/pause`, { paused: false });
    assert.equal((await browser.post(`${api}/${id}/test`, {})).statusCode, 200);
    assert.equal((await browser.post(`${api}/${id}/test`, {})).statusCode, 429);
    const [delivery] = (await browser.get(`${api}/${id}/deliveries`)).json().items;
    assert.deepEqual(
      [delivery.type, delivery.state, delivery.attempts],
      ["webhook.test", "waiting", []],
    );
    const replayed = await browser.post(`${api}/${id}/replay`, { eventId: "evt_none" });
    assert.deepEqual(replayed.json(), { replayed: 0, next: null });
    const depth = (confirmations: number | null, chainId = 1) =>
      browser.post(`${api}/confirmations`, { chainId, confirmations });
    assert.equal((await depth(101)).statusCode, 400);
    assert.equal((await depth(3, 77)).statusCode, 404);
    await depth(3);
    assert.equal((await browser.get(api)).json().chains[0].chosen, 3);
    await depth(null);
    assert.equal((await browser.get(api)).json().chains[0].chosen, null);
    assert.equal((await browser.delete(`${api}/${id}`, {})).statusCode, 200);
    assert.deepEqual((await browser.get(api)).json().endpoints, []);
  });
});
