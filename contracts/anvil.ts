// A local chain for tests, benchmarks, and `npm start`: anvil from npm. The program is started
// directly, because the npm wrapper loses signals and exit codes.

import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { arch, platform } from "node:process";
import type { Chain, Hex } from "viem";
import { localChainId } from "./index.ts";

export type Anvil = {
  rpcUrl: string;
  process: ChildProcess;
  /**
   * Ends the process, and resolves after the exit. At exit, anvil writes its state file if it has
   * one.
   */
  stop(): Promise<void>;
};

/**
 * The definition of anvil's chain for viem's clients. With viem's own definition of this chain, a
 * wait for a receipt may never end. While viem checks whether a transaction was replaced, it misses
 * new blocks. Then viem looks for the receipt again only after another block. But anvil mines a
 * block only for a new transaction.
 *
 * An import of one of viem's chains would also load all of viem's other chains.
 */
export const anvilChain = {
  id: localChainId,
  name: "Anvil",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: ["http://127.0.0.1:8545"] } },
  supportsTransactionReplacementDetection: false,
} as const satisfies Chain;

/**
 * The private keys of anvil's well-known accounts, which have native coin on every anvil chain.
 * Each key could be derived from anvil's mnemonic, but this takes time in every process.
 */
export const anvilKeys = [
  "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
  "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
] as const satisfies Hex[];

/**
 * Returns the path of a Foundry program ("anvil", "forge") for this machine.
 * @throws if npm has no program for this machine
 */
export function foundryBinary(program: "anvil" | "forge"): string {
  const os = platform === "win32" ? "win32" : platform;
  const cpu = arch === "x64" ? "amd64" : arch;
  const suffix = platform === "win32" ? ".exe" : "";
  const name = `@foundry-rs/${program}-${os}-${cpu}`;
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/${program}${suffix}`);
  } catch {
    throw new Error(
      `expected the npm package ${name}, found none: a local chain and the tests need it, but ` +
        "the service does not",
    );
  }
}

/**
 * Returns a port on 127.0.0.1 that was free a moment ago. Systems do not assign ports of this range
 * automatically, so other programs rarely take the port.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    } finally {
      server.close();
    }
  }
}

/**
 * The timeout for the start. Anvil usually listens within a second, or within several seconds on a
 * slow machine.
 */
const startMsMax = 120_000;

/**
 * Starts anvil on 127.0.0.1 and waits until it listens.
 *
 * @param options.port a free port by default
 * @param options.args further arguments, such as `--state FILE`
 * @throws {Error} with anvil's last output if it exits or does not listen within `startMsMax`
 */
export async function startAnvil(options: { port?: number; args?: string[] } = {}): Promise<Anvil> {
  const port = String(options.port ?? 0);
  const args = ["--host", "127.0.0.1", "--port", port, ...(options.args ?? [])];
  const child = spawn(foundryBinary("anvil"), args, { stdio: ["ignore", "pipe", "pipe"] });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let said = "";
  let limit: NodeJS.Timeout | undefined;
  const host = await new Promise<string>((resolve, reject) => {
    const fail = (what: string) => reject(new Error(`anvil ${what}: ${said.trim().slice(-400)}`));
    limit = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`did not listen within ${startMsMax / 1000} s`);
    }, startMsMax);
    const listen = (chunk: Buffer) => {
      said += chunk;
      const listening = /Listening on (\S+)\n/.exec(said);
      if (listening) resolve(listening[1]!);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    // On Alpine, for example, the error is ENOENT, because anvil's C library is missing.
    child.once("error", ({ message }) => reject(new Error(`anvil cannot be started: ${message}`)));
    gone.then(() => fail("did not start"));
  }).finally(() => clearTimeout(limit));
  for (const stream of [child.stdout, child.stderr]) stream.removeAllListeners("data").resume();
  return {
    rpcUrl: `http://${host}`,
    process: child,
    stop: async () => {
      child.kill("SIGINT");
      await gone;
    },
  };
}
