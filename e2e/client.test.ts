// The SDK and the command line against the service itself, over a socket.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, describe, test } from "node:test";
import type { Hex } from "executable-address";
import {
  createClient,
  InvalidError,
  type NewIntent,
  ServiceError,
} from "executable-address/client";
import { newIntent, startApp, type TestApp } from "../service/testing/app.ts";

let service: TestApp;
let baseUrl: string;
let apiKey: string;

before(async () => {
  service = await startApp();
  baseUrl = `${await service.app.listen({ host: "127.0.0.1", port: 0 })}/v1`;
  ({ apiKey } = await service.newKey());
});
after(() => service.close());

const intent = () => newIntent() as unknown as NewIntent;

describe("executable-address/client, on the service", () => {
  test("unauthorized without a credential, and with a wrong one", async () => {
    const isUnauthorized = { name: "ServiceError", status: 401, code: "unauthorized" };
    await assert.rejects(createClient({ baseUrl }).create(intent()), isUnauthorized);
    const wrong = createClient({ baseUrl, apiKey: `svc_sk_${"0".repeat(64)}` });
    await assert.rejects(wrong.create(intent()), isUnauthorized);
  });

  test("invalid_request with the service's issues, for a token that is not listed", async () => {
    const client = createClient({ baseUrl, apiKey });
    const unlisted = { ...intent(), token: `0x${"3".repeat(40)}` as Hex };
    const error = await client.create(unlisted).catch((error) => error);
    assert.ok(error instanceof ServiceError && error.code === "invalid_request");
    assert.deepEqual(error.issues[0]?.path, ["token"]);
  });

  test("creates, looks up in any letter case, and lists chains", async () => {
    const client = createClient({ baseUrl, apiKey });
    const record = await client.create(intent());
    const upper = `0x${record.address.slice(2).toUpperCase()}` as Hex;
    assert.deepEqual(await client.lookup(upper), record);
    assert.equal(await client.lookup(record.intent.token), undefined);
    await assert.rejects(client.lookup("0x1"), InvalidError);
    assert.equal((await client.chains()).chains[0]?.chainId, 1);
  });

  test("rides out rate_limited: more creates than the burst allows all end well", async () => {
    const client = createClient({ baseUrl, apiKey, retriesMax: 10 });
    const made = await Promise.all(Array.from({ length: 130 }, () => client.create(intent())));
    assert.equal(new Set(made.map(({ address }) => address)).size, 130);
  });

  test("references come back in the lists, and a client ID reads none", async () => {
    const mine = await service.newKey();
    const client = createClient({ baseUrl, apiKey: mine.apiKey });
    const { address } = await client.create(intent(), { reference: "order 42" });
    const { items } = await client.addresses({ reference: "order 42" });
    assert.equal(items[0]?.address, address);
    assert.deepEqual(await client.events(), { items: [], next: "0", hasMore: false });
    const nobody = createClient({ baseUrl });
    await assert.rejects(nobody.events(), { name: "ServiceError", code: "unauthorized" });
  });

  test("the command line creates and looks up the same record", async () => {
    const run = async (args: string[], input = "") => {
      const cli = new URL("../address/cli/cli.ts", import.meta.url).pathname;
      const env = { ...process.env, EXECUTABLE_ADDRESS_API_KEY: apiKey };
      const child = spawn(process.execPath, [cli, ...args, "--url", baseUrl], { env });
      child.stdin.end(input);
      let out = "";
      for await (const chunk of child.stdout) out += chunk;
      return JSON.parse(out);
    };
    const made = await run(["create"], JSON.stringify(intent()));
    assert.deepEqual(await run(["lookup", made.address]), made);
    const named = await run(["create", "--reference", "order-7"], JSON.stringify(intent()));
    const listed = await run(["addresses", '{"reference":"order-7"}']);
    assert.equal(listed.items[0].address, named.address);
    assert.deepEqual((await run(["events", "0"])).items, []);
  });
});
