// `node scripts/run.js ARGUMENT...` is `node ARGUMENT...` on a Node that runs TypeScript: the one
// npm was started with, or else the one that npm ci brought along. It is found by its package,
// since npm before 11 deletes node_modules/.bin/node when it skips the packages of other platforms.
//
// Plain JavaScript: here an old Node must get as far as a sentence.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { delimiter, dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** One Ctrl-C comes from the terminal and from npm: within this time it is the same signal. */
const sameSignalMs = 1000;

const door = fileURLToPath(import.meta.url);
const args = process.argv.slice(2);
const isProgram = !args[0]?.startsWith("-");
const runsTypeScript = Boolean(process.features.typescript);

if (runsTypeScript && isProgram) await runHere();
else runChild(runsTypeScript ? process.execPath : findNode());

/** The program becomes this process, so that signals and the exit code need no passing on. */
async function runHere() {
  process.argv.splice(1, 2, resolve(args[0] ?? ""));
  whenParentEnds(() => process.kill(process.pid, "SIGTERM"));
  await import(pathToFileURL(process.argv[1] ?? "").href);
}

/** @param {string} node runs in a session of its own: a terminal's signals come by us, once */
function runChild(node) {
  // A program comes by this file again, which stops it when we are gone.
  const child = spawn(node, isProgram ? [door, ...args] : args, {
    stdio: "inherit",
    detached: process.platform !== "win32",
    env: { ...process.env, PATH: dirname(node) + delimiter + process.env.PATH },
  });
  child.once("error", ({ message }) => fail(`${node} does not run here: ${message}.`));
  passSignals(child);
  whenParentEnds(() => child.kill("SIGTERM"));
  child.once("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** @param {import("node:child_process").ChildProcess} child */
function passSignals(child) {
  let passedAt = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (Date.now() - passedAt < sameSignalMs) return;
      passedAt = Date.now();
      child.kill(/** @type {NodeJS.Signals} */ (signal));
    });
  }
}

/**
 * The shell between npm and us ends by the signal that npm passes on, and does not pass it on.
 *
 * @param {() => void} stop
 */
function whenParentEnds(stop) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, 250);
  timer.unref();
}

function findNode() {
  const { arch, platform } = process;
  const name = `${platform === "win32" ? "win" : platform}-${arch}`;
  const file = platform === "win32" ? "bin/node.exe" : "bin/node";
  for (const packageName of [`node-${name}`, `node-bin-${name}`]) {
    try {
      return createRequire(import.meta.url).resolve(`${packageName}/${file}`);
    } catch {
      // The next one, or none.
    }
  }
  return fail(`No Node for ${name} lies in node_modules.`);
}

/** @param {string} why */
function fail(why) {
  console.error(
    `${why} This is Node ${process.versions.node}, and the project needs 22.18 or newer: npm ci ` +
      "(npm 9.6.6 or newer) brings it for Linux with glibc, macOS and Windows; elsewhere install " +
      "it.",
  );
  process.exit(1);
}
