// Runs the operator's commands. Example:
//
// npm run --silent admin -- account create --email EMAIL
//
// The option `--help` lists the commands. A command prints only JSON to stdout; `export` prints one
// line for each record. A command that fails prints one sentence to stderr and exits with the code
// 1. Most commands use the database directly, even while the server runs. For `copy`, the server
// must be stopped.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { accountCommands } from "./accounts/admin.ts";
import { type Command, describeCommands, findCommand, type Given } from "./admin/command.ts";
import { chainCommands } from "./chain/admin.ts";
import { type Config, readConfig } from "./config.ts";
import { dryRunCommand, executorCommands } from "./executor/admin.ts";
import { launchCommand } from "./launch/admin.ts";
import { recordCommands } from "./records/admin.ts";
import { openStore } from "./roles/open-store.ts";
import { explainStartupError } from "./roles/startup-error.ts";
import { sqliteFile } from "./store/sqlite.ts";
import { webhookCommands } from "./webhooks/admin.ts";

const targets = process.env.WEBHOOK_TARGETS === "any" ? "any" : "public";
const report = (line: string) => void process.stderr.write(`${line}\n`);
const commands: Command[] = [
  ...accountCommands,
  ...chainCommands,
  ...executorCommands,
  dryRunCommand(() => readConfig(process.env)),
  launchCommand(() => readConfig(process.env), report),
  ...recordCommands({ stdin: () => process.stdin, report }),
  ...webhookCommands(targets),
];

try {
  const words = process.argv.slice(2);
  if (words[0] === "--help") await print(Readable.from([`${describeCommands(commands)}\n`]));
  else {
    const { command, given } = findCommand(commands, words);
    await run(command, given, readConfig(process.env));
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function run(command: Command, given: Given, config: Config): Promise<void> {
  const { publicUrl, dataDirectory, chainsFile } = config;
  const context = { publicUrl, dataDirectory, chainsFile };
  if (command.opensNoStore) return print(await command.run(context, given));
  if (!config.databaseUrl) requireDatabase(command, resolve(dataDirectory));
  const store = await openStore(config, false).catch((error) => {
    throw new Error(explainStartupError(error, config), { cause: error });
  });
  try {
    await print(await command.run({ ...context, store }, given));
  } finally {
    await store.close();
  }
}

/**
 * Throws if there is no database, unless the command can create a database. Without this check,
 * SQLite would create an empty database, and its backup would look valid.
 */
function requireDatabase({ makesDatabase }: Command, directory: string): void {
  if (existsSync(sqliteFile(directory))) return;
  const missing = `there is no database in ${directory}`;
  const cure = "set DATA_DIR or DATABASE_URL to the values that the server uses";
  if (!makesDatabase) throw new Error(`${missing}: ${cure}`);
  const report = `${missing}: creating one; if the server uses a different database, ${cure}`;
  process.stderr.write(`${report}\n`);
}

/**
 * Prints an async iterable in chunks, and any other value as one line of JSON. A closed pipe is not
 * an error, because programs such as `head` stop reading early.
 */
async function print(answer: unknown): Promise<void> {
  const isPieces = typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
  const pieces = isPieces ? (answer as AsyncIterable<string>) : [`${JSON.stringify(answer)}\n`];
  await pipeline(Readable.from(pieces), process.stdout, { end: false }).catch((error) => {
    if (error.code !== "EPIPE") throw error;
  });
}
