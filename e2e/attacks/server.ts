// Runs the service as a separate process. Tests can then count its open files and log lines, and
// send signals to it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { untilPrinted } from "../../scripts/child-process.ts";
import { token } from "../../service/testing/app.ts";
import { addAccounts } from "../service.ts";

const program = resolve(import.meta.dirname, "../../service/main.ts");

export type Server = {
  process: ChildProcess;
  port: number;
  base: string;
  /** The log output up to now. */
  lines: string[];
  /** Each server has its own account. */
  apiKey: string;
  env: NodeJS.ProcessEnv;
  close(): Promise<void>;
};

export type ServerOptions = { env?: NodeJS.ProcessEnv; filesMax?: number; rpcUrl?: string };

/** @param options.filesMax the limit of open files (`ulimit -n`) */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "attack-"));
  const chainsFile = join(directory, "chains.json");
  const tokens = [{ symbol: "USDC", address: token, decimals: 6 }];
  const rpcUrls = [options.rpcUrl ?? "http://127.0.0.1:9"];
  writeFileSync(chainsFile, JSON.stringify([{ chainId: 1, name: "Ethereum", rpcUrls, tokens }]));
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    NODE_OPTIONS: process.env.NODE_OPTIONS,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    DATA_DIR: directory,
    CHAINS_FILE: chainsFile,
    PORT: "0",
    SIGNUP: "open",
    ...options.env,
  };
  const [account] = await addAccounts(env, [`${basename(directory)}@example.com`]);
  const limit = options.filesMax === undefined ? "" : `ulimit -n ${options.filesMax}; `;
  const child = spawn("sh", ["-c", `${limit}exec "$0" "$@"`, process.execPath, program], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => lines.push(line));
  await untilPrinted(child, '"msg":"listening"}\n');
  const listening = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === "listening");
  if (!listening) throw new Error(`the service ended: ${lines.at(-1)}`);
  const { port } = listening as { port: number };
  return {
    process: child,
    port,
    base: `http://127.0.0.1:${port}`,
    lines,
    apiKey: account!.apiKey,
    env,
    async close() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      rmSync(directory, { recursive: true });
    },
  };
}

/**
 * Creates `count` accounts and returns one API key per account. Each account has its own rate limit
 * for create requests.
 */
export async function newKeys({ env }: Server, count: number): Promise<string[]> {
  const emails = Array.from({ length: count }, (_, i) => `load${i}@example.com`);
  return (await addAccounts(env, emails)).map(({ apiKey }) => apiKey);
}
