// An executor within the test's own process, with whatever store and endpoints the test gives it;
// and the chain and the store that most tests of faults give it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { factoryAddress } from "executable-address-contracts";
import { pino } from "pino";
import { Registry } from "prom-client";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { executorKey } from "../../../scripts/local-chain.ts";
import type { Chain } from "../../chain/chains.ts";
import { csvOf, readReport } from "../../executor/desk/spending.ts";
import type { ExecutorEvent, Parts, Signer } from "../../executor/parts.ts";
import { run } from "../../executor/run.ts";
import { coresOf, type ExecutorParts } from "../../executor/start.ts";
import { openSigner } from "../../executor/transactions/signer.ts";
import { openStore } from "../../store/open.ts";
import type { Store } from "../../store/store.ts";
import { startPostgres } from "../postgres.ts";
import { type AnvilWorld, startWorld, testConfig } from "./anvil-world.ts";

/** Long form: npm run test:faults -w service sets it. */
const isLong = process.env.FAULTS === "long";

/** How often something is repeated, in the short and in the long form. */
export const rounds = (short: number, long: number) => (isLong ? long : short);

const secondAccount = mnemonicToAccount(
  "test test test test test test test test test test test junk",
  {
    addressIndex: 8,
  },
);

/** The key of the tests, and a second one that has as much coin there. */
export const twoKeys: Parts["signers"] = [
  openSigner({ executorKey }),
  openSigner({ executorKey: toHex(secondAccount.getHdKey().privateKey!) }),
];

/** The same keys, which sign in another manner. */
export const mapSigners = (
  signers: readonly Signer[],
  manner: (signer: Signer) => Signer["sign"],
): Parts["signers"] =>
  signers.map((each) => ({ ...each, sign: manner(each) })) as unknown as Parts["signers"];

export type Running = { events: ExecutorEvent[]; stop(): Promise<void> };

export function partsFor(
  store: Store,
  chains: Chain[],
  more: Partial<ExecutorParts["config"]> = {},
) {
  return {
    store,
    chains,
    factory: factoryAddress,
    config: { ...testConfig, ...more },
    registry: new Registry(),
    log: pino({ level: process.env.LOG_LEVEL ?? "silent" }),
  };
}

/** @param adapt changes what the core is given */
export function startCore(
  store: Store,
  chains: Chain[],
  adapt: (core: Parts) => Parts = (core) => core,
): Running {
  const stopping = new AbortController();
  const events: ExecutorEvent[] = [];
  const loops = coresOf(partsFor(store, chains), stopping.signal).map((core) => {
    const report = (event: ExecutorEvent) => {
      events.push(event);
      core.report(event);
    };
    return run(adapt({ ...core, report }), () => stopping.signal.aborted);
  });
  return {
    events,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

/** PostgreSQL with EXECUTOR_DATABASE=postgres, which npm run test:attacks sets for a second run. */
async function placeStore(dataDirectory: string): Promise<Parameters<typeof openStore>[0]> {
  if (process.env.EXECUTOR_DATABASE !== "postgres") return { dataDirectory };
  const postgres = await startPostgres();
  after(postgres.stop);
  return { databaseUrl: postgres.url, dataDirectory };
}

/**
 * A chain, and a store in a directory of its own: gone after the tests of the file that asks.
 * @param options.startSeconds as {@link startWorld} takes it
 * @param options.tickMs how often a block is mined; when absent, none is unless a test mines it
 */
export async function prepare(options: { startSeconds?: number; tickMs?: number } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "executor-"));
  const place = await placeStore(directory);
  const store = await openStore(place);
  after(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const world = await startWorld(options);
  after(world.stop);
  if (options.tickMs) world.startTicking(options.tickMs);
  return { world, store, directory, place };
}

/** Nothing on its way, and no nonce given out that the chain has not used. */
export async function isAtRest(store: Store): Promise<boolean> {
  const pending = await store.db
    .selectFrom("executor_purposes")
    .select("id")
    .where("state", "=", "pending")
    .execute();
  return pending.length === 0;
}

/** The sum of a column of the report, in wei. */
export async function sumOfReport(store: Store, column: string): Promise<bigint> {
  const [head, ...lines] = csvOf(await readReport(store.db))
    .trimEnd()
    .split("\r\n");
  const at = head!.split(",").indexOf(column);
  return lines.reduce((sum, line) => sum + BigInt(line.split(",")[at]!), 0n);
}

/** What was sent by the keys of the tests and is on the chain took the report's gas, to the wei. */
export async function assertReportIsExact({ client }: AnvilWorld, store: Store): Promise<void> {
  const newest = Number(await client.getBlockNumber());
  const blocks = await Promise.all(
    Array.from({ length: newest + 1 }, (_, number) =>
      client.getBlock({ blockNumber: BigInt(number), includeTransactions: true }),
    ),
  );
  const senders: string[] = twoKeys.map(({ address }) => address.toLowerCase());
  const sent = blocks
    .flatMap(({ transactions }) => transactions)
    .filter(({ from }) => senders.includes(from.toLowerCase()));
  const receipts = await Promise.all(
    sent.map(({ hash }) => client.getTransactionReceipt({ hash })),
  );
  const paid = receipts.reduce((sum, each) => sum + each.gasUsed * each.effectiveGasPrice, 0n);
  assert.ok(paid > 0n);
  assert.equal(await sumOfReport(store, "gasWei"), paid);
}
