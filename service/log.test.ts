import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { openLog, originsOnly } from "./log.ts";

const secret = "5f3a9c0123456789";

test("the log contains only the scheme, host, and port of a URL", () => {
  const cases: [string, string][] = [
    [`https://rpc.example/v2/${secret} failed`, "https://rpc.example failed"],
    [`wss://u:${secret}@rpc.example:8546/x?k=${secret}`, "wss://rpc.example:8546"],
    [`"postgres://u:${secret}@db.example:5432/d"`, '"postgres://db.example:5432"'],
    [`URL: https://rpc.example?key=${secret}\\n`, "URL: https://rpc.example\\n"],
    [`https://u:${secret}@a.example/b@c`, "https://a.example"],
    ["found http://a.example.", "found http://a.example."],
    [`(http://127.0.0.1:8545/#${secret})`, "(http://127.0.0.1:8545)"],
    [`https://u:a'${secret}@a.example/'${secret}(x)`, "https://a.example)"],
    [`postgres://u:a\\\\${secret}@a.example:5432,b.example/d`, "postgres://a.example:5432"],
    [`_https://u:${secret}/@a.example`, "_https://u"],
    [
      `http://[::1]:8545/${secret} http://münchen.example/${secret}`,
      "http://[::1]:8545 http://münchen.example",
    ],
    [`\\"wss://a.example/\\"${secret}\\", then`, '\\"wss://a.example\\", then'],
  ];
  for (const [text, wanted] of cases) assert.equal(originsOnly(text), wanted);
});

test("the log processes long texts of a node in linear time", () => {
  const millionOf = (text: string) => text.repeat(1_000_000 / text.length);
  for (const text of ["a.", "a:/", '\\"', "https://", "(", "x"].map(millionOf)) {
    const startedAt = process.cpuUsage();
    originsOnly(`https://a.example/${text}`);
    originsOnly(text);
    const { user, system } = process.cpuUsage(startedAt);
    assert.ok(user + system < 5_000_000, `${text.slice(0, 9)}: ${user + system} µs`);
  }
});

test("an error is logged as JSON with its stack and causes, but without secrets", () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", role: "api" }, { write: (line) => void lines.push(line) });
  const url = `https://rpc.example/v2/${secret}?k="${secret}`;
  const cause = Object.assign(new Error(`fetch of ${url}`), { url });
  log.error({ err: new Error(`HTTP request failed. URL: ${url}`, { cause }), url }, `at ${url}`);
  assert.equal(lines.length, 1);
  const { err } = JSON.parse(lines[0]!);
  assert.match(err.message, /^HTTP request failed. URL: https:\/\/rpc\.example: fetch of /);
  assert.match(err.stack, /caused by: Error: fetch of https:\/\/rpc\.example\n/);
  assert.ok(!lines[0]!.includes(secret), lines[0]);
});

test("a process can exit even if the program that reads its log has exited", async () => {
  const program = `
    import { exitLogged, openLog } from ${JSON.stringify(new URL("./log.ts", import.meta.url))};
    const log = openLog({ level: "info", role: "api" });
    process.stdin.once("end", () => {
      for (let line = 0; line < 3; line++) log.info("unread");
      exitLogged(log, 7);
    });
    process.stdin.resume();
    log.info("begun");`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  await once(child.stdout, "data");
  child.stdout.destroy();
  await once(child.stdout, "close");
  child.stdin.end();
  const [code] = await once(child, "exit");
  assert.equal(code, 7);
});

test("a process writes its whole log before it exits", async () => {
  const program = `
    import { exitLogged, openLog } from ${JSON.stringify(new URL("./log.ts", import.meta.url))};
    const log = openLog({ level: "info", role: "api" });
    for (let line = 0; line < 2_000; line++) log.info({ line }, "x".repeat(100));
    exitLogged(log, 0);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  const lines = (await text(child.stdout)).trimEnd().split("\n");
  assert.equal(JSON.parse(lines.at(-1)!).line, 1_999);
  assert.equal(lines.length, 2_000);
});
