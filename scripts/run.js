// `node scripts/run.js ARGUMENT...` runs `node ARGUMENT...` with a Node that supports TypeScript.
// If the current Node does not support TypeScript, uses the Node that npm ci installed. Finds the
// installed Node through its package. The link node_modules/.bin/node may be missing: npm before
// version 11 deletes the link if it skips the packages for other platforms.
//
// This file is plain JavaScript, so that old versions of Node can print an error message.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, statfsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * Signals within this time count as one. Ctrl-C causes two signals: one from the terminal and one
 * from npm.
 */
const sameSignalMs = 1000;

const door = fileURLToPath(import.meta.url);
const args = process.argv.slice(2);
const isProgram = !args[0]?.startsWith("-");
if (args.includes("--test")) {
  args.unshift("--import", new URL("./whole-run.ts", import.meta.url).href);
  // Caches compiled code, because test files and their programs load the same modules hundreds of
  // times.
  const cache = new URL("../node_modules/.cache/node", import.meta.url);
  process.env.NODE_COMPILE_CACHE ||= fileURLToPath(cache);
  const memory = memoryFolder();
  if (memory) process.env.TMPDIR ||= memory;
}
const runsTypeScript = Boolean(process.features.typescript);

// npm silently omits an optional package whose `engines` excludes the running Node. An example is a
// tool that builds the pages.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || major === 21 || (major === 20 && minor < 19) || (major === 22 && minor < 12)) {
  fail("For this version of Node, npm ci omits the tools that build the pages.", "20.19, 22.12");
}

if (runsTypeScript && isProgram) await runHere();
else runChild(runsTypeScript ? process.execPath : findNode());

/**
 * Returns a folder in memory in which programs can run. More than 4 GiB must be free for the tests'
 * databases. Returns undefined if no such folder exists.
 */
function memoryFolder() {
  const folder = "/dev/shm";
  if (!existsSync("/proc/mounts") || !existsSync(folder)) return undefined;
  const { bavail, bsize } = statfsSync(folder);
  const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
  const options = mounts.findLast((line) => line.split(" ")[1] === folder)?.split(" ")[3];
  const runsPrograms = options !== undefined && !options.split(",").includes("noexec");
  return runsPrograms && bavail * bsize > 4 * 2 ** 30 ? folder : undefined;
}

/** Runs the program in this process, so that signals and exit codes need no forwarding. */
async function runHere() {
  process.argv.splice(1, 2, resolve(args[0] ?? ""));
  // Hides a warning of Node 24.0 to 24.2, in which the support for TypeScript is experimental.
  const { emitWarning } = process;
  process.emitWarning = (/** @type {[string, ...never]} */ ...warning) => {
    if (!String(warning[0]).startsWith("Type Stripping")) emitWarning(...warning);
  };
  whenParentEnds(() => process.kill(process.pid, "SIGTERM"));
  await import(pathToFileURL(process.argv[1] ?? "").href);
}

/**
 * @param {string} node the program to run. The program gets its own session, and receives each
 *   terminal signal only once, from this process.
 */
function runChild(node) {
  // Finds the parent processes before the program starts. If npm is killed later, the shell gets
  // another parent.
  whenParentEnds(() => child.kill("SIGTERM"));
  // To start a program, the child process runs run.js again. In the child process, `runHere` starts
  // the program, and ends it when this process ends.
  const child = spawn(node, isProgram ? [door, ...args] : args, {
    stdio: "inherit",
    detached: process.platform !== "win32",
    env: { ...process.env, PATH: dirname(node) + delimiter + process.env.PATH },
  });
  child.once("error", ({ message }) => fail(`${node} cannot be started: ${message}.`));
  passSignals(child);
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
 * Calls `stop` when npm exits, or when the shell between npm and this process exits. A signal from
 * npm ends the shell, but the shell does not forward the signal. If npm is killed with SIGKILL, the
 * shell receives no signal, so this function also watches npm.
 * @param {() => void} stop
 */
function whenParentEnds(stop) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const npm = parentOfShell(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || isAlive(npm))) return;
    clearInterval(timer);
    stop();
  }, 250);
  timer.unref();
}

/**
 * Returns the parent's process ID, or undefined if `id` is unknown or not a shell.
 *
 * @param {number} id
 */
function parentOfShell(id) {
  try {
    const psArgs = ["-o", "ppid=,comm=", "-p", String(id)];
    const said = execFileSync("ps", psArgs, { encoding: "utf8", stdio: "pipe" });
    const found = /^\s*(\d+)\s+(?:\S*\/)?-?(?:ba|da|z|k)?sh\s*$/.exec(said);
    return found ? Number(found[1]) : undefined;
  } catch {
    return undefined;
  }
}

/** @param {number} id */
function isAlive(id) {
  try {
    return process.kill(id, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

function findNode() {
  const { arch, platform } = process;
  const name = `${platform === "win32" ? "win" : platform}-${arch}`;
  const file = platform === "win32" ? "bin/node.exe" : "bin/node";
  for (const packageName of [`node-${name}`, `node-bin-${name}`]) {
    try {
      return createRequire(import.meta.url).resolve(`${packageName}/${file}`);
    } catch {
      // The package is not installed, so the loop tries the next one.
    }
  }
  return fail(`node_modules contains no Node for ${name}.`);
}

/**
 * @param {string} why
 * @param {string} [wanted] the oldest Node version that is sufficient
 */
function fail(why, wanted) {
  const cure = wanted
    ? `${wanted} or newer`
    : "22.18 or newer: npm ci installs it on macOS, on Windows, and on Linux with glibc; on " +
      "other systems, install it yourself";
  console.error(`${why} This is Node ${process.versions.node}, and the project needs ${cure}.`);
  process.exit(1);
}
