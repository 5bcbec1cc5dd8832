// The node for tests of the service: anvil or, with LOCAL_NODE=hardhat, Hardhat's node. Hardhat's
// node differs in error texts, block order, and methods.
//
// hardhat is not a dependency of this repository. It takes 100 MB, and its engine needs Node 22 or
// later. `npm run test:hardhat -w service` installs it into a separate cache.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { type Anvil, anvilChain, startAnvil } from "../anvil.ts";

const hardhatVersion = "3.18.0";
const hardhatDirectory = resolve(import.meta.dirname, "../../node_modules/.cache/hardhat");

type LocalNode = Pick<Anvil, "rpcUrl" | "stop">;

/**
 * `startSeconds`: the initial time of the chain's clock in Unix seconds. Default: the host's time.
 */
type NodeOptions = {
  chainId?: number;
  gasLimit?: number;
  startSeconds?: number;
  hardfork?: "prague" | "osaka";
};

export const isHardhat = process.env.LOCAL_NODE === "hardhat";

/** Listens on 127.0.0.1, and mines a block for each transaction. */
export async function startLocalNode(options: NodeOptions = {}): Promise<LocalNode> {
  if (isHardhat) return startHardhat(options);
  const given = { "chain-id": options.chainId, "gas-limit": options.gasLimit };
  const all = { ...given, timestamp: options.startSeconds, hardfork: options.hardfork };
  const args = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  );
  return startAnvil({ args });
}

async function startHardhat(options: NodeOptions): Promise<LocalNode> {
  const cli = await installHardhat();
  const { chainId = anvilChain.id, gasLimit = 30_000_000, startSeconds } = options;
  const initialDate = startSeconds && new Date(startSeconds * 1000);
  const node = { type: "edr-simulated", chainId, blockGasLimit: gasLimit, initialDate };
  const config = join(hardhatDirectory, `config-${randomUUID()}.mjs`);
  await writeFile(config, `export default ${JSON.stringify({ networks: { node } })};\n`);
  const args = ["--config", config, "node", "--hostname", "127.0.0.1", "--port", "0"];
  const env = { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: "true" };
  const child = spawn(process.execPath, [cli, ...args], { cwd: hardhatDirectory, env });
  const gone = new Promise<void>((done) => child.once("exit", () => done()));
  const rpcUrl = await urlOf(child, gone).finally(() => rm(config));
  return {
    rpcUrl,
    stop: async () => {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/**
 * The URL that the node prints when it listens.
 * @throws with its output, if it ends before
 */
function urlOf({ stdout, stderr }: ChildProcess, gone: Promise<void>): Promise<string> {
  let said = "";
  return new Promise((found, failed) => {
    const listen = (chunk: Buffer) => {
      if (said.length > 10_000) return;
      said += chunk;
      const listening = /server at (http:\/\/[^/\s]+)/.exec(said);
      if (listening) found(listening[1]!);
    };
    // Reads the output to the end, because a full pipe would stop the node.
    stdout!.on("data", listen);
    stderr!.on("data", listen);
    gone.then(() => failed(new Error(`hardhat did not start: ${said.trim().slice(-400)}`)));
  });
}

/** @returns the path of Hardhat's program */
async function installHardhat(): Promise<string> {
  const { resolve: find } = createRequire(join(hardhatDirectory, "package.json"));
  const cli = () => join(find("hardhat/package.json"), "../dist/src/cli.js");
  try {
    if (find("hardhat/package.json")) return cli();
  } catch {}
  await mkdir(hardhatDirectory, { recursive: true });
  await writeFile(join(hardhatDirectory, "package.json"), '{ "type": "module" }');
  const npm = process.env.npm_execpath;
  if (!npm) throw new Error("LOCAL_NODE=hardhat needs npm; use npm run test:hardhat -w service");
  await promisify(execFile)(
    process.execPath,
    [npm, "install", "--ignore-scripts", `hardhat@${hardhatVersion}`],
    { cwd: hardhatDirectory },
  );
  return cli();
}
