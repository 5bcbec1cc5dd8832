// Starts the service and a chain with the demo contracts, as separate processes on free ports.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { type Anvil, freePort } from "executable-address-contracts/anvil";
import { startLocalNode } from "../contracts/testing/local-node.ts";
import { end, isAnswering } from "../scripts/child-process.ts";
import { deployDemo, localChains } from "../scripts/local-chain.ts";
import { createWithKey } from "../service/accounts/admin.ts";
import { openStore } from "../service/roles/open-store.ts";

const root = resolve(import.meta.dirname, "..");

export type Running = {
  anvil: Pick<Anvil, "rpcUrl" | "stop">;
  baseUrl: string;
  accountId: string;
  apiKey: string;
  clientId: string;
  /** The service's environment variables, for operator commands. */
  env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
};

/**
 * @param env more variables for the service, such as `DATABASE_URL` or `ROLE`
 * @param otherChains more entries for CHAINS_FILE
 */
export async function startService(
  env: NodeJS.ProcessEnv = {},
  otherChains: readonly object[] = [],
): Promise<Running> {
  const dataDir = await mkdtemp(join(tmpdir(), "executable-address-"));
  const anvil = await startLocalNode();
  let service: ChildProcess | undefined;
  const stop = async () => {
    if (service) await end(service, "SIGTERM");
    await anvil.stop();
    await rm(dataDir, { recursive: true });
  };
  try {
    await deployDemo(anvil.rpcUrl);
    const chainsFile = join(dataDir, "chains.json");
    const chains = [...localChains(anvil.rpcUrl), ...otherChains];
    await writeFile(chainsFile, JSON.stringify(chains));
    const port = await freePort();
    const all = {
      ...process.env,
      PORT: String(port),
      DATA_DIR: dataDir,
      CHAINS_FILE: chainsFile,
      ROLE: "api",
      SIGNUP: "open",
      ...env,
    };
    const [account] = await addAccounts(all, ["shop@example.com"]);
    service = spawn(process.execPath, [join(root, "service/main.ts")], {
      env: all,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const said = listen(service);
    if (!(await isAnswering(`${baseUrl}/chains`, service))) {
      throw new Error(`the service ended with ${service.exitCode}: ${said()}`);
    }
    return { anvil, baseUrl, ...account!, env: all, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Adds an account for each email address, as `account create` does, but without starting a process.
 */
export async function addAccounts({ DATA_DIR, DATABASE_URL }: NodeJS.ProcessEnv, emails: string[]) {
  const store = await openStore({ dataDirectory: DATA_DIR!, databaseUrl: DATABASE_URL }, false);
  const by = { atMs: Date.now() };
  const added = [];
  for (const email of emails) added.push((await createWithKey(store.db, email, by))!);
  await store.close();
  return added;
}

/** Runs an operator command and returns its output. */
export async function admin(
  env: NodeJS.ProcessEnv,
  ...args: string[]
): Promise<Record<string, unknown>> {
  const command = [join(root, "service/admin.ts"), ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env });
  return JSON.parse(stdout);
}

/** Collects the output of `child`. Returns a function that returns the last 4,000 characters. */
function listen({ stdout, stderr }: ChildProcess): () => string {
  let said = "";
  for (const stream of [stdout, stderr]) {
    stream?.on("data", (chunk) => {
      said = (said + chunk).slice(-4000);
    });
  }
  return () => said;
}
