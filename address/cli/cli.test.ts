// The program as a shell runs it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import {
  encodeExecution,
  executeBatchSelector,
  factoryAddress,
  makeRecord,
  toHex,
} from "../index.ts";
import { credentials } from "../test/answers.ts";
import { sample, shop } from "../test/samples.ts";

const cli = new URL("./cli.ts", import.meta.url).pathname;
const record = makeRecord(sample);

async function run(args: string[], stdin = "", env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [cli, ...args], { env: { ...process.env, ...env } });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  child.stdin.end(stdin);
  const status = await new Promise<number>((resolve) => child.on("close", resolve));
  return { status, out, err };
}

describe("executable-address", () => {
  test("2 and how to use it, when misused", async () => {
    const misuses = [["toString"], ["derive", "a", "b"], ["derive", "--what"], ["derive", "{"]];
    for (const args of [...misuses, ["lookup", shop], ["lookup", shop, "--url", "x"]]) {
      const { status, err } = await run(args);
      assert.equal(status, 2, args.join(" "));
      assert.match(err, /usage: executable-address/);
    }
  });

  test("2 and how to use it, without arguments", async () => {
    const { status, out, err } = await run([]);
    assert.deepEqual([status, out], [2, ""]);
    assert.match(err, /^usage: executable-address/);
  });

  test("0 and how to use it on stdout, when asked", async () => {
    for (const args of [["--help"], ["-h"], ["derive", "--help"], ["verify", "{}", "-h"]]) {
      const { status, out, err } = await run(args);
      assert.deepEqual([status, err], [0, ""], args.join(" "));
      assert.match(out, /^usage: executable-address/);
    }
  });

  test("1 and a line for each fault, when refused", async () => {
    const { status, out, err } = await run(
      ["derive"],
      JSON.stringify({ ...sample, amount: "01", x: 1 }),
    );
    assert.equal(status, 1);
    assert.equal(out, "");
    assert.match(
      err,
      /^x: no such field.*\(unknown_field\)\namount: .*write "1" \(not_canonical\)\n$/,
    );
  });

  test("1 and the fault alone, where it is of the whole input", async () => {
    const { status, err } = await run(["decode", "0x0"]);
    assert.equal(status, 1);
    assert.match(err, /^expected 0x and an even number of hex digits \(malformed_hex\)\n$/);
  });

  test("1 for a record that does not prove itself, or is of another address", async () => {
    const forged = JSON.stringify({ ...record, intent: { ...sample, recovery: shop } });
    assert.equal((await run(["verify", forged])).status, 1);
    assert.equal((await run(["verify", JSON.stringify(record), "--address", shop])).status, 1);
    assert.equal((await run(["verify", JSON.stringify(record), "--factory", shop])).status, 1);
  });

  test("derive, verify, decode and execution work offline, from arguments or stdin", async () => {
    const text = JSON.stringify(record);
    assert.deepEqual(JSON.parse((await run(["derive", JSON.stringify(sample)])).out), record);
    assert.deepEqual(JSON.parse((await run(["verify"], `${text}\n`)).out), record);
    assert.deepEqual(JSON.parse((await run(["decode", record.terms])).out), sample);
    const calldata = toHex(encodeExecution(sample));
    assert.deepEqual(JSON.parse((await run(["execution", "-"], calldata)).out), [record]);
    const tuple = record.terms.slice(2 + 64);
    const words = [32, 2, 64, 64 + tuple.length / 2].map((n) => n.toString(16).padStart(64, "0"));
    const batch = [executeBatchSelector, ...words, tuple, tuple].join("");
    assert.deepEqual(JSON.parse((await run(["execution", batch])).out), [record, record]);
    const theirs = await run(["derive", "--factory", shop], JSON.stringify(sample));
    assert.deepEqual(JSON.parse(theirs.out), makeRecord(sample, { factory: shop }));
  });

  test("create and lookup speak to the service", async () => {
    const keys: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      keys.push(request.headers.authorization);
      const known = request.method === "POST" || request.url?.endsWith(record.address);
      response.statusCode = known ? 200 : 404;
      const error = { code: "not_found", message: "no intent", issues: [] };
      response.end(JSON.stringify(known ? record : { error }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const env = { EXECUTABLE_ADDRESS_API_KEY: credentials.apiKey };
    const made = await run(["create", "--url", url], JSON.stringify(sample), env);
    const found = await run(["lookup", record.address, "--url", url]);
    const missed = await run(["lookup", factoryAddress, "--url", url]);
    server.close();
    assert.deepEqual(JSON.parse(made.out), record);
    assert.deepEqual(JSON.parse(found.out), record);
    assert.equal(missed.status, 1);
    assert.match(missed.err, /no intent/);
    assert.deepEqual(keys, [`Bearer ${credentials.apiKey}`, undefined, undefined]);
  });
});
