// The service as a process of its own, for attacks that count files, signals or lines of its log.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { token } from "../../service/http/app-for-tests.ts";
import { admin } from "../service.ts";

const program = resolve(import.meta.dirname, "../../service/main.ts");

export type Server = {
  process: ChildProcess;
  port: number;
  base: string;
  /** Everything it wrote to its log so far. */
  lines: string[];
  apiKey: string;
  env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
};

type Options = { env?: NodeJS.ProcessEnv; filesMax?: number; rpcUrl?: string };

/** @param options.filesMax what `ulimit -n` allows it */
export async function startServer(options: Options = {}): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "attack-"));
  const chainsFile = join(directory, "chains.json");
  const tokens = [{ symbol: "USDC", address: token, decimals: 6 }];
  const rpcUrls = [options.rpcUrl ?? "http://127.0.0.1:9"];
  writeFileSync(chainsFile, JSON.stringify([{ chainId: 1, name: "Ethereum", rpcUrls, tokens }]));
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    NODE_OPTIONS: process.env.NODE_OPTIONS,
    DATA_DIR: directory,
    CHAINS_FILE: chainsFile,
    PORT: "0",
    SIGNUP: "open",
    ...options.env,
  };
  const { apiKey } = await admin(env, "account", "create", "--email", "shop@example.com");
  const limit = options.filesMax === undefined ? "" : `ulimit -n ${options.filesMax}; `;
  const child = spawn("sh", ["-c", `${limit}exec "$0" "$@"`, process.execPath, program], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const port = await new Promise<number>((found, failed) => {
    createInterface({ input: child.stdout! }).on("line", (line) => {
      lines.push(line);
      const { msg, port } = JSON.parse(line);
      if (msg === "listening") found(port);
    });
    child.once("exit", () => failed(new Error(`the service ended: ${lines.at(-1)}`)));
  });
  return {
    process: child,
    port,
    base: `http://127.0.0.1:${port}`,
    lines,
    apiKey: String(apiKey),
    env,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      rmSync(directory, { recursive: true });
    },
  };
}
