// Runs the whole HTTP service for tests, with its own database and without mocks.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factoryAddress, type Hex } from "executable-address";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { createWithKey } from "../accounts/admin.ts";
import { openAccounts } from "../accounts/open.ts";
import { type Chain, parseChains } from "../chain/chains.ts";
import { type Chains, perChain } from "../chain/registry.ts";
import { openChainRpc } from "../chain/rpc/chain-rpc.ts";
import { openStatusReader } from "../chain/status/reader.ts";
import { openExecutorClient } from "../executor/client.ts";
import { openChainLoop } from "../follow/loop.ts";
import { buildApp } from "../http/app.ts";
import { defaultLimits, type Limits } from "../http/limits.ts";
import { createMetrics } from "../http/metrics.ts";
import type { Parts } from "../http/parts.ts";
import { openStore } from "../roles/open-store.ts";
import { keccak } from "../store/record.ts";

export const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
/** A token that is listed as a look-alike of {@link token}. */
export const lookalike: Hex = "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174";
const known = parseChains(
  [
    {
      chainId: 1,
      name: "Ethereum",
      rpcUrls: ["http://127.0.0.1:9"],
      tokens: [{ symbol: "USDC", address: token, decimals: 6, recoverMin: "10000" }],
      lookalikes: [
        {
          symbol: "USDC.e",
          name: "Bridged USDC",
          address: lookalike,
          decimals: 6,
          looksLike: "USDC",
          recoverMin: "10000",
        },
      ],
    },
    {
      chainId: 10,
      name: "Left out",
      rpcUrls: ["http://127.0.0.1:9"],
      tokens: [{ symbol: "USDC", address: token, decimals: 6 }],
    },
  ],
  "the test",
);

/** The interval at which each chain is polled. */
const pollMs = 20;

/**
 * The default chains. Chain 1 can be used in new intents. Chain 10 is configured, but cannot be
 * used in new intents.
 */
export const testChains: Chains = chainsOf(known, known.slice(0, 1));

/**
 * Returns a configuration of all chains in `known`. Only the chains in `listed` can be used in new
 * intents. Does not check the endpoints.
 */
export function chainsOf(known: readonly Chain[], listed: readonly Chain[] = known): Chains {
  const rpcs = new Map(known.map(({ chainId, rpcUrls }) => [chainId, openChainRpc(rpcUrls)]));
  const find = (chains: readonly Chain[], id: number) => chains.find((each) => each.chainId === id);
  return {
    known,
    listed: () => listed,
    find: (id) => find(known, id),
    isListed: (id) => find(listed, id) !== undefined,
    rpcOf: (id) => rpcs.get(id)!,
    close: () => {},
  };
}

/** Returns the chains, with a status reader and a polling loop for each chain. */
export function chainParts(chains: Chains): Pick<Parts, "chains" | "statusReader" | "chainLoop"> {
  const known = { chains, factory: factoryAddress };
  return {
    chains,
    statusReader: perChain(known, openStatusReader),
    chainLoop: perChain(known, ({ rpc }) => openChainLoop(rpc.heads, pollMs)),
  };
}

/**
 * Sends `bytes` as latin1 text. Returns the data that the server sends before the connection ends
 * or is reset.
 */
export async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  socket.write(bytes, "latin1");
  await new Promise((resolve) => socket.once("close", resolve));
  return answer;
}

/** Returns a valid, unique intent that expires in an hour. */
export function newIntent() {
  return {
    token,
    amount: "25000000",
    calls: [
      {
        target: token as string,
        function: "transfer(address to, uint256 value)",
        args: ["0x1111111111111111111111111111111111111111", "25000000"],
      },
    ],
    expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
    recovery: "0x2222222222222222222222222222222222222222",
    salt: `0x${randomBytes(32).toString("hex")}`,
    chainId: 1,
  };
}

export type TestApp = {
  app: FastifyInstance;
  parts: Parts;
  /** The lines that the service has logged so far. */
  logged: string[];
  newKey(): Promise<{ accountId: string; apiKey: string }>;
  close(): Promise<void>;
};

/**
 * Starts to listen on the loopback interface.
 *
 * @returns the port
 */
export async function listen({ app }: Pick<TestApp, "app">): Promise<number> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** `dataDirectory` is an existing folder, which `close` does not delete. */
type AppOptions = {
  limits?: Partial<Limits>;
  databaseUrl?: string;
  dataDirectory?: string;
} & Partial<Omit<Parts, "limits">>;

export async function startApp(more: AppOptions = {}): Promise<TestApp> {
  const { dataDirectory = mkdtempSync(join(tmpdir(), "app-")) } = more;
  const store = await openStore({ dataDirectory, databaseUrl: more.databaseUrl });
  const publicUrl = "http://127.0.0.1:8080";
  const accounts = await openAccounts(
    store,
    { publicUrl, signup: "open" },
    { onLimiterFault: () => {}, onUsageFault: () => {} },
  );
  const logged: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => logged.push(line) });
  const parts: Parts = {
    store,
    accounts,
    ...chainParts(more.chains ?? testChains),
    executorClient: openExecutorClient(store, log, 10),
    factory: factoryAddress,
    keccak,
    publicUrl,
    labels: new Map(),
    metrics: createMetrics(),
    log,
    now: Date.now,
    draining: new AbortController().signal,
    ...more,
    limits: { ...defaultLimits, ...more.limits },
  };
  const app = buildApp(parts);
  await app.ready();
  return {
    app,
    parts,
    logged,
    async newKey() {
      const email = `${randomBytes(6).toString("hex")}@example.com`;
      return (await createWithKey(store.db, email, { atMs: Date.now() }))!;
    },
    async close() {
      await app.close();
      await accounts.close();
      await store.close();
      if (more.dataDirectory === undefined) rmSync(dataDirectory, { recursive: true });
    },
  };
}
