// npm start: runs a local chain with the contracts, the API, the executor, and the pages. Also
// creates an account with credentials. To keep the data for the next start, set DATA_DIR.

import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { startAnvil } from "executable-address-contracts/anvil";
import { zeroHash } from "viem";
import { InUseError, lockDirectory } from "../service/store/sqlite/server-lock.ts";
import { end, isAnswering } from "./child-process.ts";
import { type Credentials, type Demo, demoFile, readDemo } from "./demo.ts";
import {
  demoTokens,
  deployDemo,
  executorKey,
  localChainId,
  localChains,
  payerAccount,
  shopAddress,
} from "./local-chain.ts";
import { buildPages } from "./pages.ts";

const root = resolve(import.meta.dirname, "..");
const host = process.env.HOST || "127.0.0.1";
const port = portFrom("PORT", 8080);
const chainPort = portFrom("CHAIN_PORT", 8545);
const dataDir = resolve(process.env.DATA_DIR || join(root, ".data"));
const baseUrl = `http://${host.includes(":") ? `[${host}]` : host}:${port}/v1`;

/** An error that the user can fix. The program prints only its message. */
class Sentence extends Error {}

/** @throws {Sentence} with the message of `error` */
function fail({ message }: Error): never {
  throw new Sentence(message);
}

type Stop = () => Promise<void>;
const stops: Stop[] = [];
let stopping: Promise<void> | undefined;

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop(0));
try {
  await start();
} catch (error) {
  console.error(error instanceof Sentence ? error.message : error);
  await stop(1);
}

async function start(): Promise<void> {
  prepareDataDir();
  stops.push(lockDataDir());
  await requireFree(chainPort, "127.0.0.1", "CHAIN_PORT");
  await requireFree(port, host, "PORT");
  try {
    buildPages();
  } catch (error) {
    fail(error as Error);
  }

  // Mines a block for each transaction immediately. Also mines a block every ten seconds, so that
  // the chain's clock advances.
  const state = ["--state", join(dataDir, "chain.json"), "--state-interval", "30"];
  const mining = ["--mixed-mining", "--block-time", "10"];
  const anvil = await startAnvil({ port: chainPort, args: [...state, ...mining] }).catch(fail);
  stops.push(anvil.stop);
  anvil.process.once("exit", () => void stop(1, "the local chain stopped"));
  await deployDemo(anvil.rpcUrl);

  const env = serviceEnv(anvil.rpcUrl);
  const { apiKey, clientId } = demoAccount(env);
  const { rpcUrl } = anvil;
  const demo: Demo = { baseUrl, rpcUrl, apiKey, clientId };
  writeFileSync(demoFile(dataDir), JSON.stringify(demo, null, 2), { mode: 0o600 });

  const log = join(dataDir, "service.log");
  const output = openSync(log, "a");
  const service = spawn(process.execPath, [join(root, "service/main.ts")], {
    env,
    stdio: ["ignore", output, output],
  });
  stops.push(() => end(service, "SIGTERM"));
  service.once("exit", () => void stop(1, `the service stopped; see ${log}:\n${tail(log)}`));
  if (!(await isAnswering(`${baseUrl}/chains`, service))) return;
  await requireKnownKey(demo);
  console.log(welcome(demo, log));
}

function serviceEnv(rpcUrl: string): NodeJS.ProcessEnv {
  const chainsFile = join(dataDir, "chains.json");
  writeFileSync(chainsFile, JSON.stringify(localChains(rpcUrl), null, 2));
  return {
    ...process.env,
    HOST: host,
    PORT: String(port),
    DATA_DIR: dataDir,
    CHAINS_FILE: chainsFile,
    ROLE: "all",
    // Safe by default, because the service listens only on this machine unless HOST is set.
    SIGNUP: process.env.SIGNUP || "open",
    EXECUTOR_KEY: executorKey,
    WEBHOOK_TARGETS: "any",
  };
}

/**
 * Returns the credentials of the demo account. The first start creates the account. A file stores
 * the API key, because the service stores only a digest. If the file is missing, creates another
 * key.
 */
function demoAccount(env: NodeJS.ProcessEnv): Credentials {
  const kept = readDemo(dataDir);
  if (kept) return kept;
  const email = "demo@localhost.localdomain";
  const admin = (...args: string[]) =>
    JSON.parse(
      execFileSync(process.execPath, [join(root, "service/admin.ts"), ...args], {
        env,
        encoding: "utf8",
        stdio: "pipe",
      }),
    );
  try {
    return admin("account", "create", "--email", email);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    if (!stderr?.includes("already exists")) throw new Sentence(stderr ?? String(error));
  }
  const { accountId, clientId } = admin("account", "show", "--email", email);
  const { apiKey } = admin("key", "create", "--account", accountId, "--name", "demo");
  return { clientId, apiKey };
}

/** @throws {Sentence} if the database does not contain the stored key */
async function requireKnownKey({ apiKey }: Credentials): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const probe = { method: "POST", headers, body: "{}" };
  const { status } = await fetch(`${baseUrl}/address/create`, probe);
  if (status !== 401) return;
  const file = demoFile(dataDir);
  throw new Sentence(
    `The database in ${dataDir} does not contain the API key in ${file}: delete that file, and ` +
      "start again to create a new key.",
  );
}

function welcome({ apiKey, clientId, rpcUrl }: Demo, log: string): string {
  const token = demoTokens[0]!;
  const amount = "25000000";
  const recovery = payerAccount.address;
  const calls = [
    {
      target: token.address,
      function: "approve(address spender, uint256 amount)",
      args: [shopAddress, amount],
    },
    {
      target: shopAddress,
      function:
        "payOrder(uint256 orderId, uint256 amount, uint64 expiry, address recovery, bytes32 salt)",
      args: ["1", amount, "$EXPIRY", recovery, zeroHash],
    },
  ];
  const expirationTimestamp = "$EXPIRY";
  const intent = {
    token: token.address,
    amount,
    calls,
    expirationTimestamp,
    recovery,
    salt: zeroHash,
    chainId: localChainId,
  };
  // In the printed command, `$EXPIRY` is outside of the single quotes, so that the shell inserts
  // its value.
  const body = JSON.stringify(intent)
    .replace('"expirationTimestamp":"$EXPIRY"', `"expirationTimestamp":'$EXPIRY'`)
    .replace('"$EXPIRY"', `"'$EXPIRY'"`);
  // `npm run pay` reads the chain's URL from a file in DATA_DIR.
  const dataDirAsPasted = process.env.DATA_DIR ? `DATA_DIR='${dataDir}' ` : "";
  return `
  API         ${baseUrl}
  API key     ${apiKey}
  Client ID   ${clientId}
  Dashboard   ${new URL("/", baseUrl)}
  Docs        ${new URL("/docs", baseUrl)}
  Chain       ${rpcUrl} (chain ID ${localChainId}, ${token.symbol} ${token.address})
  Log         ${log}

Run these commands in another terminal, in this folder.

1. Create an address that pays 25 ${token.symbol} for an order:

EXPIRY=$(($(date +%s) + 3600)); ADDRESS=$(curl -sS ${baseUrl}/address/create \
-H 'Authorization: Bearer ${apiKey}' \
-H 'Content-Type: application/json' -d '${body}' \\
| grep -o '0x[0-9a-fA-F]*' | head -1); echo $ADDRESS

2. Pay the address, as any wallet would. The executor then runs the calls:

${dataDirAsPasted}npm run --silent pay -- $ADDRESS

3. Check the status of the address, and look up its intent:

curl -sS ${baseUrl}/address/$ADDRESS/status; echo; curl -sS ${baseUrl}/address/$ADDRESS; echo

To follow the status live: curl -sSN ${baseUrl}/address/$ADDRESS/events
Payment page: ${new URL("/a/", baseUrl)}$ADDRESS

Press Ctrl-C to stop. The next start uses the same data.
`;
}

/** Stops everything in reverse order, and exits with `code`. Later calls have no effect. */
function stop(code: number, why?: string): Promise<void> {
  stopping ??= (async () => {
    if (why) console.error(why);
    for (const end of stops.reverse()) await end();
    process.exit(code);
  })();
  return stopping;
}

function prepareDataDir(): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Sentence(`${dataDir} is not writable (${code}): set DATA_DIR to a writable folder.`);
  }
}

/**
 * @returns a function that releases the lock of the folder
 * @throws {Sentence} if another process uses the folder
 */
function lockDataDir(): Stop {
  try {
    const unlock = lockDirectory(dataDir, "start.lock");
    // The service keeps this lock while it runs.
    lockDirectory(dataDir)();
    return async () => unlock();
  } catch (error) {
    if (!(error instanceof InUseError)) throw error;
    throw new Sentence(
      `${dataDir} is in use by another npm start or server: stop it, or set a different DATA_DIR.`,
    );
  }
}

function portFrom(name: "PORT" | "CHAIN_PORT", fallback: number): number {
  const text = process.env[name] || String(fallback);
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) < 65_536) return Number(text);
  console.error(`${name} is ${JSON.stringify(text)}; expected a port from 1 to 65535.`);
  process.exit(1);
}

/** @throws {Sentence} if the port is in use */
async function requireFree(port: number, host: string, name: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once("error", ({ code }: NodeJS.ErrnoException) =>
      reject(
        new Sentence(
          code === "EADDRINUSE"
            ? `Port ${port} of ${host} is already in use: stop the other program, or set ${name}.`
            : `Port ${port} of ${host} cannot be used (${code}): set a different ${name}.`,
        ),
      ),
    );
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

/** Returns the last lines of a file. */
function tail(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-5).join("\n");
}
