// Tests the command-line tool. Most tests run the commands in this process. The other tests start
// the program.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { batchSelector, encodeExecution, factoryAddress, makeRecord, toHex } from "../index.ts";
import { deriveReturns } from "../status/returns.ts";
import { checkOf, credentials, sentOf } from "../test/answers.ts";
import { runCommand as run } from "../test/command.ts";
import { sample, shop, withCall } from "../test/samples.ts";
import { serve } from "../test/serve.ts";

const cli = new URL("./cli.ts", import.meta.url).pathname;
const record = makeRecord(sample);

async function runProgram(args: string[], stdin = "", env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [cli, ...args], { env: { ...process.env, ...env } });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  child.stdin.end(stdin);
  const status = await new Promise<number>((resolve) => child.on("close", resolve));
  return { status, out, err };
}

describe("executable-address", () => {
  test("the command exits with 2 and prints the usage if the command line is invalid", async () => {
    const misuses: [string[], RegExp][] = [
      [["toString"], /unknown command: toString/],
      [["--url", "x"], /missing command/],
      [["derive", "a", "b"], /expected one input, found 2/],
      [["derive", "--what"], /unknown option: --what/],
      [["derive", "{}", "--factory"], /--factory needs a value/],
      [["derive", "{}", "--factory", shop, "--factory", shop], /--factory can be given only once/],
      [["lookup", shop, "--url", "x"], /baseUrl/],
    ];
    for (const [args, sentence] of misuses) {
      const { status, err } = await run(args);
      assert.equal(status, 2, args.join(" "));
      assert.match(err, sentence);
      assert.match(err, /usage: executable-address/);
    }
  });

  test("the command exits with 2 for a missing or invalid setting", async () => {
    const intent = JSON.stringify(sample);
    const misuses: [string[], RegExp][] = [
      [["lookup", shop], /missing --url: the base URL of the service/],
      [["status", intent], /missing --rpc, the URL of a node/],
      [["salt", "order-1"], /_REFERENCE_KEY: expected svc_ref_ .* digits, found 8 characters\n/],
      [["rebuild", "0x12"], /expected the hash of a transaction, found "0x12"/],
      [
        ["status", intent, "--rpc", "x", "--quorum", "two"],
        /--quorum: .*from 0 to 999999, found two/,
      ],
    ];
    for (const [args, sentence] of misuses) {
      const { status, err } = await run(args, "", { EXECUTABLE_ADDRESS_REFERENCE_KEY: "mistyped" });
      assert.equal(status, 2, err);
      assert.match(err, sentence);
    }
  });

  test("the command exits with 2 and prints the usage if there are no arguments", async () => {
    const { status, out, err } = await runProgram([]);
    assert.deepEqual([status, out], [2, ""]);
    assert.match(err, /^usage: executable-address/);
  });

  test("the command exits with 0 and prints the package version for `--version`", async () => {
    const file = new URL("../package.json", import.meta.url);
    const { version } = JSON.parse(readFileSync(file, "utf8"));
    assert.deepEqual(await runProgram(["--version"]), { status: 0, out: `${version}\n`, err: "" });
  });

  test("the command exits with 0 and prints the usage for `--help` and `-h`", async () => {
    for (const args of [["--help"], ["-h"], ["derive", "--help"], ["verify", "{}", "-h"]]) {
      const { status, out, err } = await run(args);
      assert.deepEqual([status, err], [0, ""], args.join(" "));
      assert.match(out, /^usage: executable-address/);
    }
  });

  test("the command exits with 1 and prints one line for each error in the input", async () => {
    const { status, out, err } = await runProgram(
      ["derive"],
      JSON.stringify({ ...sample, amount: "01", x: 1 }),
    );
    assert.equal(status, 1);
    assert.equal(out, "");
    assert.match(
      err,
      /^x: unknown field.*\(unknown_field\)\namount: .*write "1" \(not_canonical\)\n$/,
    );
  });

  test("the command exits with 1 for invalid JSON or a repeated field", async () => {
    assert.match((await run(["derive", "{"])).err, /\(not_json\)\n$/);
    const twice = JSON.stringify(sample).replace("{", '{"amount":"5",');
    const { status, out, err } = await run(["derive"], twice);
    assert.deepEqual([status, out], [1, ""]);
    assert.equal(err, 'field "amount" is repeated (repeated_field)\n');
  });

  test("the command reads its input from a `.json` file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "cli-"));
    const file = join(folder, "intent.json");
    writeFileSync(file, JSON.stringify(sample));
    const { out } = await runProgram(["derive", file]);
    rmSync(folder, { recursive: true });
    assert.deepEqual(JSON.parse(out), record);
  });

  test("an error without a path is printed as its message and code", async () => {
    const { status, err } = await run(["decode", "0x0"]);
    assert.equal(status, 1);
    assert.match(
      err,
      /^expected 0x and an even number of hex digits, found \d+ characters \(malformed_hex\)\n$/,
    );
  });

  test("`verify` exits with 1 if the record's intent, address, or factory is wrong", async () => {
    const forged = JSON.stringify({ ...record, intent: { ...sample, recovery: shop } });
    assert.equal((await run(["verify", forged])).status, 1);
    assert.equal((await run(["verify", JSON.stringify(record), "--address", shop])).status, 1);
    assert.equal((await run(["verify", JSON.stringify(record), "--factory", shop])).status, 1);
  });

  test("`derive`, `verify`, `decode`, and `execution` work without a service", async () => {
    const text = JSON.stringify(record);
    assert.deepEqual(JSON.parse((await run(["derive", JSON.stringify(sample)])).out), record);
    assert.deepEqual(JSON.parse((await run(["verify"], `${text}\n`)).out), record);
    assert.deepEqual(JSON.parse((await run(["decode", record.terms])).out), sample);
    const calldata = toHex(encodeExecution(sample));
    assert.deepEqual(JSON.parse((await run(["execution", "-"], calldata)).out), [record]);
    const item = calldata.slice(2).padEnd(2 * (record.terms.length / 2 + 31), "0");
    const [bytes, padded] = [calldata.length / 2 - 1, item.length / 2];
    const words = [32, 2, 64, 64 + 32 + padded, bytes];
    const [offset, count, first, second, length] = words.map((n) =>
      n.toString(16).padStart(64, "0"),
    );
    const batch = [batchSelector, offset, count, first, second, length, item, length, item].join(
      "",
    );
    assert.deepEqual(JSON.parse((await run(["execution", batch])).out), [record, record]);
    const odd = await run(["execution", batch.replace(item, item.replace("184bb814", "00000000"))]);
    assert.deepEqual([odd.status, JSON.parse(odd.out)], [1, [record]]);
    assert.match(odd.err, /^\[0\]: expected calldata that begins with .*\(not_an_execution\)\n$/);
    const theirs = await run(["derive", "--factory", shop], JSON.stringify(sample));
    assert.deepEqual(JSON.parse(theirs.out), makeRecord(sample, { factory: shop }));
  });

  test("`returns` works offline, and can read the executor's rules from a service", async () => {
    const offline = await run(["returns"], JSON.stringify(record));
    assert.deepEqual(JSON.parse(offline.out), deriveReturns(record));
    assert.equal((await run(["returns", record.terms])).out, offline.out);
    const policy = { confirmations: 3, paymentConfirmations: 0, amountMin: "10000" };
    const body = deriveReturns(record, policy);
    let lie: object = body;
    const server = await serve(({ url }, response) => {
      const isKnown = url!.includes(record.address);
      response.statusCode = isKnown ? 200 : 404;
      const error = { code: "not_found", message: "no intent", issues: [] };
      const answer = url!.endsWith("/returns") ? lie : record;
      response.end(JSON.stringify(isKnown ? answer : { error }));
    });
    const ask = (subject: string) => run(["returns", subject, "--url", `${server.origin}/v1`]);
    assert.deepEqual(JSON.parse((await ask(record.address)).out), body);
    assert.equal((await ask(shop)).status, 1);
    lie = { ...body, returns: body.returns.map((row) => ({ ...row, to: shop })) };
    assert.deepEqual(JSON.parse((await ask(record.address)).out), body);
    lie = { ...body, executor: { confirmations: "3" } };
    const { status, err } = await ask(record.address);
    const place = "$.executor.confirmations: expected integer, found 1 characters";
    assert.deepEqual([status, err], [1, `the response is not a valid list of returns: ${place}\n`]);
    await server.close();
    assert.equal((await run(["returns", record.address])).status, 2);
  });

  test("`create` sends the API key to the service, but `lookup` does not", async () => {
    const keys: (string | undefined)[] = [];
    const server = await serve((request, response) => {
      keys.push(request.headers.authorization);
      const known = request.method === "POST" || request.url?.endsWith(record.address);
      response.statusCode = known ? 200 : 404;
      const error = { code: "not_found", message: "no intent", issues: [] };
      response.end(JSON.stringify(known ? record : { error }));
    });
    const url = `${server.origin}/v1`;
    const env = { EXECUTABLE_ADDRESS_API_KEY: credentials.apiKey };
    const made = await runProgram(["create", "--url", url], JSON.stringify(sample), env);
    const found = await run(["lookup", record.address, "--url", url]);
    const missed = await run(["lookup", factoryAddress, "--url", url]);
    const noStatus = await run(["status", factoryAddress, "--url", url, "--rpc", url]);
    await server.close();
    assert.deepEqual(JSON.parse(made.out), record);
    assert.deepEqual(JSON.parse(found.out), record);
    for (const { status, err } of [missed, noStatus]) {
      assert.equal(status, 1);
      assert.match(err, new RegExp(`the service has no intent for ${factoryAddress}`));
    }
    assert.deepEqual(keys, [`Bearer ${credentials.apiKey}`, ...Array(3).fill(undefined)]);
  });

  test("one command accepts another command's output as its input", async () => {
    const made = (await run(["derive"], JSON.stringify(sample))).out;
    const calldata = toHex(encodeExecution(sample));
    assert.deepEqual(JSON.parse((await run(["decode"], made)).out), sample);
    assert.deepEqual(JSON.parse((await run(["decode"], JSON.stringify(record.terms))).out), sample);
    assert.equal((await run(["derive"], (await run(["decode"], made)).out)).out, made);
    assert.equal((await run(["derive"], made)).out, made);
    const list = (await run(["execution", calldata])).out;
    assert.equal((await run(["verify"], list)).out, list);
  });

  test("`derive` prints a caution if a parameter name is a reserved word", async () => {
    const intent = withCall("f(bool memory)", "true");
    const { status, err } = await run(["derive"], JSON.stringify(intent));
    assert.equal(status, 0);
    assert.match(
      err,
      /^caution: calls\[0\]\.function: .*memory is a reserved word of .*\(reserved_word\)\n$/,
    );
  });

  const hostile =
    "\u001b[2J\u001b]0;x\u0007\u009b31m\u202e\u2066\u200b\u2028\u{e0041}\u115f\u2800\ufe0f\r\nok";
  /** Matches everything except visible text, spaces, and line feeds. */
  const active = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u2800]|\ufe0f/u;

  test("hidden characters in an intent are printed as JSON escapes", async () => {
    const { out } = await run(["derive"], JSON.stringify(withCall("f(string a)", hostile)));
    assert.doesNotMatch(out, active);
    assert.equal(JSON.parse(out).intent.calls[0].args[0], hostile);
  });

  test("hidden characters in a service's error are escaped", async () => {
    const issues = [
      null,
      7,
      {},
      { path: "calls", code: "x", message: "y" },
      { path: [hostile], code: hostile, message: hostile },
      { path: [{}], code: "x", message: "y" },
    ];
    const server = await serve((_, response) => {
      response.statusCode = 400;
      response.end(
        JSON.stringify({ error: { code: "invalid_request", message: hostile, issues } }),
      );
    });
    const { status, err } = await run(["lookup", shop, "--url", `${server.origin}/v1`]);
    await server.close();
    assert.equal(status, 1);
    assert.doesNotMatch(err, active);
    assert.equal(err.split("\n").length, 3);
  });

  test("`create` prints the salt for a retry if the service fails", async () => {
    const server = await serve((_, response) => {
      response.statusCode = 500;
      response.end("{}");
    });
    const { salt, ...rest } = sample;
    const env = { EXECUTABLE_ADDRESS_API_KEY: credentials.apiKey };
    const { err } = await run(
      ["create", "--url", `${server.origin}/v1`],
      JSON.stringify(rest),
      env,
    );
    await server.close();
    assert.match(err, /to create the same address again, send "salt": "0x[0-9a-f]{64}"\n$/);
  });

  test("`check` exits with 1 if the service reports a problem with the intent", async () => {
    const honest = checkOf(record);
    const bodies = [honest, { ...honest, findings: [] }].map((body) => JSON.stringify(body));
    const server = await serve((_, response) => void response.end(bodies.shift()));
    const env = { EXECUTABLE_ADDRESS_API_KEY: credentials.apiKey };
    const args = ["check", "--url", `${server.origin}/v1`];
    const doubtful = await run(args, JSON.stringify(sample), env);
    const note = "note: token: a proxy (token_may_change)\n";
    const line = `${note}warning: calls[0].args[1]: too much; less (allowance_left)\n`;
    assert.deepEqual([doubtful.status, doubtful.err], [1, line]);
    assert.deepEqual(JSON.parse(doubtful.out), honest);
    assert.equal((await run(args, JSON.stringify(record), env)).status, 0);
    await server.close();
  });

  test("`report` rejects a response about another address", async () => {
    const { address } = record;
    const answers = [sentOf(address), sentOf(shop)].map((answer) => JSON.stringify(answer));
    const asked: string[] = [];
    const server = await serve(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      asked.push(`${request.method} ${request.url} ${Buffer.concat(chunks)}`);
      response.end(answers.shift());
    });
    const args = ["report", address, "--url", `${server.origin}/v1`];
    const hash = `0x${"12".repeat(32)}`;
    const right = await run([...args, "--transaction", hash]);
    assert.deepEqual(JSON.parse(right.out), sentOf(address));
    assert.deepEqual(asked, [`POST /v1/address/${address}/sent {"transactionHash":"${hash}"}`]);
    const wrong = await run([...args, "--token", shop]);
    assert.deepEqual([wrong.status, wrong.out], [1, ""]);
    assert.match(wrong.err, /expected address 0x\w+, found 0x/);
    for (const more of [
      [],
      ["--token", shop, "--token", shop],
      ["--token", shop, "--transaction", hash],
    ]) {
      const misused = await run([...args, ...more]);
      assert.equal(misused.status, 2);
      assert.match(misused.err, /report: expected either one --token or one --transaction/);
    }
    await server.close();
  });

  test("the command exits without an error if its output is closed", async () => {
    const many = JSON.stringify(Array(2000).fill(record));
    const child = spawn(process.execPath, [cli, "verify"]);
    let err = "";
    child.stderr.on("data", (chunk) => (err += chunk));
    child.stdout.destroy();
    child.stdin.end(many);
    const status = await new Promise((resolve) => child.on("close", resolve));
    assert.deepEqual([status, err], [0, ""]);
  });
});
