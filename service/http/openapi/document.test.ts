// spec/openapi.json is what the sources say, others can read it, and its examples work.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { validate } from "@readme/openapi-parser";
import openapiTypescript, { astToString } from "openapi-typescript";
import { parseChains } from "../../chain/chains.ts";
import type { Chains } from "../../chain/registry.ts";
import { listen, startApp, type TestApp } from "../../testing/app.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { document, judge, judgeExample } from "../../testing/openapi.ts";
import { describeApi } from "./document.ts";
import { examples } from "./examples.ts";
import { type Operation, type OperationId, operations } from "./operations.ts";

const committed = readFileSync(new URL("../../../spec/openapi.json", import.meta.url), "utf8");
const all = Object.entries(operations) as [OperationId, Operation][];

test("spec/openapi.json is what `npm run openapi -w service` writes", () => {
  assert.equal(committed, `${JSON.stringify(describeApi(), null, 2)}\n`);
});

test("a validator of others accepts it", async () => {
  const found = await validate(JSON.parse(committed));
  assert.deepEqual(found, { valid: true, warnings: [], specification: "OpenAPI" });
});

test("every operation and every webhook has examples that its schemas accept", () => {
  for (const [id, { method, path, body, answer }] of all) {
    const example = examples[id];
    const at = `/paths/${path.replaceAll("/", "~1")}/${method.toLowerCase()}`;
    if (body) judgeExample(`${at}/requestBody`, example.body);
    if (answer === "document") continue;
    assert.ok(example.answer, id);
    if (answer !== "stream") judgeExample(`${at}/responses/200`, example.answer);
  }
  for (const [type, { post }] of Object.entries(document.webhooks)) {
    const { example } = post.requestBody.content!["application/json"] as { example?: unknown };
    assert.ok(example, type);
    judgeExample(`/webhooks/${type}/post/requestBody`, example);
  }
});

test("every shape that is a component, and the fields that need it, have a description", () => {
  const { schemas } = document.components;
  const bare = Object.entries(schemas).filter(([, { description }]) => !description);
  assert.deepEqual(bare, []);
  const { properties } = schemas.Status as { properties: Record<string, { description?: string }> };
  assert.match(properties.balance!.description!, /balance of `token`/, "taken from AddressStatus");
});

describe("a client that openapi-typescript makes", () => {
  const room = resolve(import.meta.dirname, "../..");
  const folder = mkdtempSync(join(room, "node_modules", "client-"));
  let world: World;
  let service: TestApp;
  before(async () => {
    world = await startWorld(chainId);
    service = await startApp({ chains: await exampleChains(world), now: () => exampleMs });
  });
  after(async () => {
    await service?.close();
    await world?.stop();
    rmSync(folder, { recursive: true });
  });

  test("compiles, and each operation answers its example as described", async () => {
    const types = await openapiTypescript(JSON.parse(committed));
    writeFileSync(join(folder, "api.d.ts"), astToString(types));
    writeFileSync(join(folder, "calls.ts"), writeCalls());
    compile(folder);
    const { openCalls } = (await import(pathToFileURL(join(folder, "calls.js")).href)) as Calling;
    const { accountId, apiKey } = await service.newKey();
    await keepExamples(service, accountId);
    const baseUrl = `http://127.0.0.1:${await listen(service)}/v1`;
    const calls = openCalls(baseUrl, { authorization: `Bearer ${apiKey}` });
    const inOrder = Object.keys(operations) as OperationId[];
    assert.deepEqual(Object.keys(calls), inOrder);

    let endpoint = "";
    // An endpoint is removed after everything else was done with it.
    for (const id of [
      ...inOrder.filter((id) => id !== "removeEndpoint"),
      "removeEndpoint",
    ] as const) {
      const { method, path, answer }: Operation = operations[id];
      const named = path.startsWith("/events/") ? eventId : endpoint;
      const { response, error } = await calls[id](named);
      assert.equal(response.status, 200, `${id}: ${JSON.stringify(error)}`);
      const body = answer === "stream" ? "" : await response.text();
      if (answer === "stream") await response.body?.cancel();
      const headers = Object.fromEntries(response.headers);
      judge({ statusCode: 200, headers, body }, path, method.toLowerCase() as "get");
      if (id === "createEndpoint") endpoint = JSON.parse(body).id;
      if (id === "lookUpAddress") assert.deepEqual(JSON.parse(body), record);
    }
  });
});

type Call = (id: string) => Promise<{ response: Response; error?: unknown }>;
type Calling = {
  openCalls(baseUrl: string, headers: Record<string, string>): Record<OperationId, Call>;
};

const record = examples.lookUpAddress.answer!;
const { chainId, token } = record.intent;
const eventId = examples.findEvent.path!.id!;
const exampleMs = Date.parse(examples.findOwnAddress.answer!.createdAt);

/** TypeScript that sends the example of each operation through openapi-fetch. */
function writeCalls(): string {
  const calls = all.map(([id, { method, path }]) => {
    const { path: inPath, query, body }: Example = examples[id];
    const named = inPath && ("id" in inPath ? "{ id }" : JSON.stringify(inPath));
    const params = [named && `path: ${named}`, query && `query: ${JSON.stringify(query)}`];
    const given = [
      `params: { ${params.filter(Boolean).join(", ")} }`,
      body && `body: ${JSON.stringify(body)}`,
      'parseAs: "stream"',
    ];
    const options = given.filter(Boolean).join(", ");
    return `${id}: (id: string) => client.${method}("${path}", { ${options} }),`;
  });
  return `import createClient from "openapi-fetch";
    import type { paths } from "./api.js";
    export function openCalls(baseUrl: string, headers: Record<string, string>) {
      const client = createClient<paths>({ baseUrl, headers });
      return { ${calls.join("\n")} };
    }`;
}

type Example = { path?: object; query?: object; body?: object };

/** @throws with the compiler's words */
function compile(folder: string): void {
  const compilerOptions = {
    ...{ strict: true, skipLibCheck: true, types: [], lib: ["es2024", "dom"], target: "es2024" },
    ...{ module: "esnext", moduleResolution: "bundler", allowImportingTsExtensions: false },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const config = { compilerOptions, files: ["calls.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
    "bin/tsc",
  );
  const { stdout, status } = spawnSync(process.execPath, [compiler, "-p", folder], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
}

/** The chain of the examples, with a token at the address that it has there. */
async function exampleChains({ chain, client, rpcUrl, token: demo }: World): Promise<Chains> {
  await client.setCode({ address: token, bytecode: (await client.getCode({ address: demo }))! });
  // Proofs need a block whose state root has the code.
  await client.mine({ blocks: 1 });
  const tokens = [{ symbol: "USDC", address: token, decimals: 6 }];
  const [known] = parseChains([{ chainId, name: "Base", rpcUrls: [rpcUrl], tokens }], "the test");
  const find = (id: number) => (id === chainId ? known : undefined);
  return {
    ...{ known: [known!], listed: () => [known!], find },
    ...{ isListed: (id) => id === chainId, rpcOf: () => chain.rpc, close: () => {} },
  };
}

/** Keeps the record and the event that the examples ask for. */
async function keepExamples({ parts: { store } }: TestApp, accountId: string): Promise<void> {
  const [address, terms] = [record.address, record.terms].map((hex) =>
    Buffer.from(hex.slice(2), "hex"),
  );
  await store.saveRecord({ address: address!, terms: terms!, accountId, createdAtMs: exampleMs });
  const body = JSON.stringify(examples.findEvent.answer);
  const row = { id: eventId, type: "address.executed", created_at: exampleMs, position: 1 };
  await store.db
    .insertInto("events")
    .values({ ...row, account_id: accountId, address: address!, sequence: 1, body })
    .execute();
}
