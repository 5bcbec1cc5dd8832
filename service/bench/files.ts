// node bench/files.ts prints how many source files one operation uses in the main thread. Counts
// only source files of service/ and of the library. A file is counted if one of its functions ran,
// according to V8's precise coverage. Runs each operation once before the measurement. The service
// runs in a separate process, which imports covered.ts. The webhook is sent to the process that
// runs this file.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { demoToken } from "executable-address-contracts";
import { freePort, startAnvil } from "executable-address-contracts/anvil";
import { pino } from "pino";
import type { Hex } from "viem";
import { end, isAnswering } from "../../scripts/child-process.ts";
import {
  demoTokens,
  deployDemo,
  executorKey,
  localChainId,
  localChains,
  localWallet,
  payerAccount,
} from "../../scripts/local-chain.ts";
import { createWithKey } from "../accounts/admin.ts";
import { openStore } from "../roles/open-store.ts";
import { addHook, happen, newAccount, startReceiver } from "../testing/webhooks/world.ts";
import { startDelivery } from "../webhooks/deliver.ts";
import { sender } from "../webhooks/send.ts";
import { takeFiles } from "./covered.ts";

const isListing = process.argv.includes("--list");
const token = demoTokens[0]!.address;

function show(operation: string, files: string[]): void {
  console.log(`${operation.padEnd(24)} ${files.length}`);
  if (isListing) for (const file of files) console.log(`    ${file}`);
}

type Service = {
  apiKey: string;
  baseUrl: string;
  covered(work: () => Promise<unknown>): Promise<string[]>;
};

/** Runs the service with the node at `rpcUrl`, calls `use`, and then stops the service. */
async function withService(
  role: "api" | "all",
  rpcUrl: string,
  use: (service: Service) => Promise<void>,
) {
  const dataDirectory = mkdtempSync(join(tmpdir(), "files-"));
  const chainsFile = join(dataDirectory, "chains.json");
  writeFileSync(chainsFile, JSON.stringify(localChains(rpcUrl)));
  const port = await freePort();
  const store = await openStore({ dataDirectory }, false);
  const { apiKey } = (await createWithKey(store.db, "bench@example.com", { atMs: Date.now() }))!;
  await store.close();
  const child = spawn(
    process.execPath,
    ["--import", join(import.meta.dirname, "covered.ts"), join(import.meta.dirname, "../main.ts")],
    {
      env: {
        ...process.env,
        PORT: String(port),
        DATA_DIR: dataDirectory,
        CHAINS_FILE: chainsFile,
        ROLE: role,
        EXECUTOR_KEY: role === "all" ? executorKey : "",
        LOG_LEVEL: "error",
      },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    },
  );
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  try {
    if (!(await isAnswering(`${baseUrl}/chains`, child))) throw new Error("the service ended");
    await use({ apiKey, baseUrl, covered: (work) => coveredBy(child, work) });
  } finally {
    await end(child, "SIGTERM");
    rmSync(dataDirectory, { recursive: true });
  }
}

async function coveredBy(child: ChildProcess, work: () => Promise<unknown>): Promise<string[]> {
  const take = () =>
    new Promise<string[]>((resolve) => {
      child.once("message", (files) => resolve(files as string[]));
      child.send("take");
    });
  await take();
  await work();
  return take();
}

const createAddress = async ({ baseUrl, apiKey }: Service): Promise<Hex> => {
  const response = await fetch(`${baseUrl}/address/create`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      token,
      amount: "25",
      calls: [
        {
          target: token,
          function: "transfer(address to, uint256 value)",
          args: [payerAccount.address, "25"],
        },
      ],
      expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
      recovery: payerAccount.address,
      chainId: localChainId,
    }),
  });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { address: Hex }).address;
};

async function read({ baseUrl }: Service, path: string): Promise<void> {
  const response = await fetch(`${baseUrl}/address/${path}`);
  if (!response.ok) throw new Error(await response.text());
  await response.arrayBuffer();
}

/**
 * Pays the address and waits until it has code, which means that it was executed. Then waits 4 s
 * for the background work of the service.
 */
async function payAndAwait(rpcUrl: string, address: Hex): Promise<void> {
  const wallet = localWallet(rpcUrl, payerAccount);
  const call = { address: token, abi: demoToken.abi, functionName: "mint" } as const;
  await wallet.writeContract({ ...call, args: [address, 25n] });
  while (!(await wallet.getCode({ address }))) await sleep(100);
  await sleep(4_000);
}

async function measureRequests(service: Service): Promise<void> {
  await createAddress(service);
  show("create", await service.covered(() => createAddress(service)));
  const [address, other] = [await createAddress(service), await createAddress(service)];
  await read(service, address);
  show("look-up", await service.covered(() => read(service, other)));
  show("look-up, cached", await service.covered(() => read(service, other)));
  await read(service, `${address}/status`);
  show("status", await service.covered(() => read(service, `${other}/status`)));
  show("status, repeated", await service.covered(() => read(service, `${other}/status`)));
}

async function measureExecution(service: Service, rpcUrl: string): Promise<void> {
  await payAndAwait(rpcUrl, await createAddress(service));
  const address = await createAddress(service);
  await sleep(3_000);
  show("nothing happens, 5 s", await service.covered(() => sleep(5_000)));
  show("execution", await service.covered(() => payAndAwait(rpcUrl, address)));
}

async function measureWebhook(): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), "files-"));
  const store = await openStore({ dataDirectory });
  const receiver = await startReceiver();
  const account = await newAccount(store);
  await addHook(store, account, receiver.url);
  const delivery = startDelivery({
    ...{ store, now: Date.now, random: Math.random, pollMs: 10, send: sender("any") },
    log: pino({ level: "silent" }),
  });
  const deliver = async (count: number) => {
    while (receiver.taken.length < count) await sleep(5);
    await sleep(500);
  };
  await happen(store, account);
  await deliver(1);
  await takeFiles();
  await happen(store, account);
  await deliver(2);
  show("webhook", await takeFiles());
  await Promise.all([delivery.stop(), receiver.close()]);
  await store.close();
  rmSync(dataDirectory, { recursive: true });
}

const anvil = await startAnvil();
try {
  await deployDemo(anvil.rpcUrl);
  await withService("api", anvil.rpcUrl, measureRequests);
  await withService("all", anvil.rpcUrl, (service) => measureExecution(service, anvil.rpcUrl));
  await measureWebhook();
} finally {
  await anvil.stop();
}
