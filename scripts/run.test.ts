// Tests signals and exit codes between `npm run` and a program. A signal that ends npm must also
// end the program. The program gets the signal once and can exit gracefully. The exit code of npm
// must be the program's exit code.

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";

const door = resolve(import.meta.dirname, "run.js");

/** Counts the signals in the 1.5 s after the first signal, and then exits with code 7. */
const program = `
let heard = 0;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {
  heard += 1;
  if (heard === 1) setTimeout(() => { console.log("heard " + heard); process.exit(7); }, 1500);
});
setInterval(() => {}, 1000);
console.log("ready " + process.argv.slice(2).join(","));
`;

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "run-"));
  writeFileSync(join(folder, "program.ts"), program);
  writeFileSync(join(folder, "quits.ts"), "process.exit(5 as number);");
  const old = "node --no-experimental-strip-types";
  const scripts = {
    program: `node ${door} program.ts one two`,
    "program-old": `${old} ${door} program.ts one two`,
    // The second command prevents the shell from replacing itself with the program.
    shelled: `node ${door} program.ts one two; exit $?`,
    "shelled-old": `${old} ${door} program.ts one two; exit $?`,
    quits: `node ${door} quits.ts`,
    "quits-old": `${old} ${door} quits.ts`,
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", scripts }));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `npm run` in its own process group, as a terminal does. */
function npmRun(script: string) {
  const npm = spawn("npm", ["run", "--silent", script], { cwd: folder, detached: true });
  let said = "";
  for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (chunk) => (said += chunk));
  const until = (text: string) =>
    new Promise<string>((found) => {
      const look = () => said.includes(text) && found(said);
      npm.stdout.on("data", look);
      look();
    });
  // The output closes only after every process that writes to it has exited. So no program is
  // running after `ended` resolves.
  const ended = new Promise<string>((done) => npm.stdout.once("close", () => done(said)));
  return { npm, until, ended };
}

const exitOf = (npm: ChildProcess) => new Promise((done) => npm.once("exit", done));

test("npm run names the required Node version if Node is too old", () => {
  const oldest = { "20.19.0": 5, "22.12.0": 5, "24.0.0": 5 };
  const tooOld = { "18.20.8": 1, "20.18.3": 1, "21.7.3": 1, "22.11.0": 1 };
  for (const [version, code] of Object.entries({ ...oldest, ...tooOld })) {
    const versions = `{ value: { ...process.versions, node: ${JSON.stringify(version)} } }`;
    const pretend = `Object.defineProperty(process, "versions", ${versions})`;
    const args = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`, door];
    const ended = spawnSync(process.execPath, [...args, "quits.ts"], { cwd: folder });
    assert.equal(ended.status, code, version);
    const sentence = `This is Node ${version}, and the project needs 20.19, 22.12 or newer.`;
    assert.equal(ended.stderr.toString().includes(sentence), code === 1, version);
  }
});

// `--no-experimental-strip-types` simulates an older Node, which cannot run TypeScript.
for (const [machine, suffix] of [
  ["a Node that runs TypeScript", ""],
  ["an older Node", "-old"],
] as const) {
  describe(`npm run on ${machine}`, { timeout: 60_000 }, () => {
    test("npm run returns the program's exit code", async () => {
      assert.equal(await exitOf(npmRun(`quits${suffix}`).npm), 5);
    });

    test("SIGTERM to npm ends the program", async () => {
      const { npm, until, ended } = npmRun(`program${suffix}`);
      assert.match(await until("ready"), /ready one,two/);
      npm.kill("SIGTERM");
      assert.match(await ended, /heard 1\n/);
    });

    test("SIGKILL to npm ends the program", async () => {
      const { npm, until, ended } = npmRun(`shelled${suffix}`);
      await until("ready");
      npm.kill("SIGKILL");
      assert.match(await ended, /heard 1\n/);
    });

    test("Ctrl-C ends the program", async () => {
      const { npm, until, ended } = npmRun(`program${suffix}`);
      await until("ready");
      process.kill(-npm.pid!, "SIGINT");
      assert.match(await ended, suffix ? /heard 1\n/ : /heard [12]\n/);
    });
  });
}
