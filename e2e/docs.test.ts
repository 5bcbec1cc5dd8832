// Tests the user documentation with the real service. Links must lead to existing files and
// headings. The service must accept the valid examples. It must reject the invalid examples with
// the documented errors.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { initCodePrefix } from "executable-address";
import { localChains, shopAddress } from "../scripts/local-chain.ts";
import { parseChains } from "../service/chain/chains.ts";
import { readConfig } from "../service/config.ts";
import { statuses } from "../service/http/errors.ts";
import { chainsOf, startApp, type TestApp } from "../service/testing/app.ts";
import { judgeStatus } from "../service/testing/openapi.ts";

const docs = resolve(import.meta.dirname, "../docs");
const read = (page: string) => readFileSync(join(docs, page), "utf8");
const pages = readdirSync(docs).filter((name) => name.endsWith(".md"));

/** A time shortly before the intents of the examples expire. */
const nowMs = 1_899_990_000_000;
let service: TestApp;
before(async () => {
  const known = parseChains(localChains("http://127.0.0.1:9"), "the demo");
  service = await startApp({ chains: chainsOf(known), now: () => nowMs });
});
after(() => service.close());

async function create(intent: unknown) {
  const { apiKey } = await service.newKey();
  return service.app.inject({
    method: "POST",
    url: "/v1/address/create",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    payload: JSON.stringify(intent),
  });
}

const blocks = (page: string, language: string) =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    (m) => m[1]!,
  );

test("every row of docs/index.md names an existing test or page", () => {
  const lines = read("index.md")
    .split("\n")
    .filter((line) => line.startsWith("| ") && line.includes("]("));
  assert.equal(lines.length, 15);
  const named = lines.flatMap((line) => [
    ...line.matchAll(/\]\((\.\.[^)]*)\), (?:"([^"]*)"|`([^`]*)`)/g),
  ]);
  assert.equal(named.length, 15, "one row names two tests, and the last row two pages");
  for (const [, path, quoted, code] of named) {
    const text = readFileSync(join(docs, path!), "utf8");
    assert.ok(text.includes((quoted ?? code)!), `${path}: ${quoted ?? code}`);
  }
});

test("every link in the documentation leads to an existing file and heading", () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
      .filter(([, path, heading]) => {
        const target = path ? resolve(docs, path) : join(docs, page);
        if (!existsSync(target)) return true;
        const headings = [...readFileSync(target, "utf8").matchAll(/^#+ (.*)$/gm)].map(
          (m) => m[1]!,
        );
        const slugs = headings.map((text) =>
          text
            .toLowerCase()
            .replace(/[^\w\- ]/g, "")
            .replaceAll(" ", "-"),
        );
        return heading !== undefined && !slugs.includes(heading);
      })
      .map(([link]) => `${page}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

test("the documentation has the address of the demo shop", () => {
  for (const page of ["quickstart.md", "intents.md"])
    assert.ok(read(page).includes(shopAddress), page);
});

test("docs/verifying.md contains the current PREFIX", () => {
  const found = read("verifying.md").match(/0x5f5f[0-9a-f]*/g);
  assert.deepEqual(new Set(found), new Set([initCodePrefix]));
});

test("the documentation lists every setting with its default", () => {
  const defaults = new Map<string, string>();
  for (const page of ["self-hosting.md", "executor.md"]) {
    for (const [, names, cell] of read(page).matchAll(/^\| (`[A-Z_`, ]+`) \| (.*?) \|/gm)) {
      const values = cell!.split(", ");
      for (const [i, name] of names!.split(", ").entries()) {
        defaults.set(name.replaceAll("`", ""), values[i] ?? values[0]!);
      }
    }
  }
  const source = readFileSync(join(docs, "../service/config.ts"), "utf8");
  const names = [...source.matchAll(/\w+\)?\("([A-Z]+(?:_[A-Z]+)*)"[,)]/g)].map((m) => m[1]!);
  assert.deepEqual([...defaults.keys()].sort(), names.sort());

  const madeAtStart = ["PUBLIC_URL", "CHAINS_FILE", "DOCS_URL"];
  for (const [name, cell] of defaults) {
    const [, value] = /^`([^`]+)`$/.exec(cell) ?? [];
    if (value === undefined || madeAtStart.includes(name)) continue;
    assert.deepEqual(readConfig({ [name]: value }), readConfig({}), name);
  }
});

test("every documented metric exists", () => {
  const service = join(docs, "../service");
  const sources = readdirSync(service, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .map((file) => readFileSync(join(service, file), "utf8"));
  const named = new Set([...sources.join().matchAll(/"([a-z_]+)"/g)].map((m) => m[1]!));
  const shown = ["self-hosting.md", "executor.md"].flatMap((page) =>
    [...read(page).matchAll(/`((?:http|executor|corrupt|limiter|event)_[a-z_]+)/g)].map(
      (m) => m[1]!,
    ),
  );
  const isThere = (name: string) => named.has(name) || named.has(name.replace("executor_", ""));
  assert.deepEqual(
    shown.filter((name) => name !== "executor_" && !isThere(name)),
    [],
  );
});

test("the chains file in docs/self-hosting.md is valid", () => {
  const [chains] = blocks("self-hosting.md", "json").map((text) => JSON.parse(text));
  assert.equal(parseChains(chains, "the page").length, 1);
});

test("the example status in docs/status-and-events.md is valid", () => {
  judgeStatus(JSON.parse(blocks("status-and-events.md", "json")[0]!));
});

describe("docs/intents.md", () => {
  const [intent, call] = blocks("intents.md", "json").map((text) => JSON.parse(text));
  const rows = [...read("intents.md").matchAll(/^\| `(".*)` \| `(.*)` \| `(.*)` \| (.*) \|$/gm)];

  test("the service accepts the example intents", async () => {
    assert.deepEqual((await create(intent)).json().intent, { ...intent });
    const other = { ...intent, calls: [call] };
    assert.deepEqual((await create(other)).json().intent, other);
  });

  for (const [, fragment, path, code, says] of rows) {
    test(`the service reports ${code} in the field ${path} for ${fragment}`, async () => {
      const change = JSON.parse(`{${fragment}}`);
      const isCall = ["target", "function", "args"].some((name) => name in change);
      const last = { ...intent.calls.at(-1), ...change };
      const changed = isCall ? { ...intent, calls: [last] } : { ...intent, ...change };
      const response = await create(changed);
      assert.equal(response.statusCode, 400);
      const { issues } = response.json().error;
      const issue = issues.find((each: { path: [] }) => each.path.join(".") === path);
      assert.equal(issue?.code, code, JSON.stringify(issues));
      assert.ok(issue.message.includes(says), issue.message);
    });
  }

  test("control: docs/intents.md lists more than 25 errors", () => assert.ok(rows.length > 25));
});

test("the documentation lists every error code with its HTTP status", () => {
  const dashboardOnly = /^(invalid_(email|password|token)|password_|signup_|user_)/;
  for (const text of [read("api.md"), readFileSync(join(docs, "../spec/service.md"), "utf8")]) {
    const rows = [...text.matchAll(/^\| (\d{3}) \| (`.*?`) \|/gm)].flatMap(([, status, codes]) =>
      codes!.split(", ").map((code) => `${code.replaceAll("`", "")} ${status}`),
    );
    const table = Object.entries(statuses).filter(([code]) => !dashboardOnly.test(code));
    assert.deepEqual(rows.sort(), table.map((entry) => entry.join(" ")).sort());
  }
});
