import assert from "node:assert/strict";
import { test } from "node:test";
import { openLog, originsOnly } from "./log.ts";

const secret = "5f3a9c0123456789";

test("of a URL only scheme, host and port are written, wherever it stands", () => {
  const cases: [string, string][] = [
    [`https://rpc.example/v2/${secret} failed`, "https://rpc.example failed"],
    [`wss://u:${secret}@rpc.example:8546/x?k=${secret}`, "wss://rpc.example:8546"],
    [`"postgres://u:${secret}@db.example:5432/d"`, '"postgres://db.example:5432"'],
    [`URL: https://rpc.example?key=${secret}\\n`, "URL: https://rpc.example\\n"],
    [`https://u:${secret}@a.example/b@c`, "https://a.example"],
    [`(http://127.0.0.1:8545/#${secret})`, "(http://127.0.0.1:8545)"],
  ];
  for (const [text, wanted] of cases) assert.equal(originsOnly(text), wanted);
});

test("errors, their stacks and causes are lines of JSON without the secret", () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", role: "api" }, { write: (line) => void lines.push(line) });
  const url = `https://rpc.example/v2/${secret}?k="${secret}`;
  const cause = Object.assign(new Error(`fetch of ${url}`), { url });
  log.error({ err: new Error(`HTTP request failed. URL: ${url}`, { cause }), url }, `at ${url}`);
  assert.equal(lines.length, 1);
  const { err } = JSON.parse(lines[0]!);
  assert.match(err.message, /HTTP request failed. URL: https:\/\/rpc\.example/);
  assert.ok(!lines[0]!.includes(`v2/${secret}`), lines[0]);
});
