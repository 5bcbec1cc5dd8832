// Runs an executor in the test's process, with the test's database and endpoints. `prepare`
// starts a chain and opens a database for the tests of one file.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { Hex } from "executable-address";
import { demoToken, factoryAddress } from "executable-address-contracts";
import { anvilKeys } from "executable-address-contracts/anvil";
import { pino } from "pino";
import { Registry } from "prom-client";
import { parseEventLogs, type TransactionReceipt, toHex } from "viem";
import { executorKey } from "../../../scripts/local-chain.ts";
import type { Chain } from "../../chain/chains.ts";
import { formatCsv } from "../../executor/admin.ts";
import type { ExecutorEvent } from "../../executor/events/event.ts";
import { readReport } from "../../executor/ledger/spending.ts";
import type { Parts, Signer } from "../../executor/pass.ts";
import { run } from "../../executor/run.ts";
import { type ExecutorParts, openParts } from "../../executor/start.ts";
import { openSigner } from "../../executor/transactions/signer.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { openStore } from "../../roles/open-store.ts";
import type { Store } from "../../store/store.ts";
import { startPostgres } from "../postgres.ts";
import { type AnvilWorld, startWorld, testConfig, unit, weiOfUnit } from "./anvil-world.ts";

/** The tests' usual key, and a second key with the same balance. */
export const twoKeys: Parts["signers"] = [
  openSigner({ executorKey }),
  openSigner({ executorKey: anvilKeys[3] }),
];

/** Returns copies of the signers with replaced `sign` functions. */
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

/**
 * Starts an executor.
 *
 * @param adapt returns the executor's parts with the changes that the test needs
 */
export function startCore(
  store: Store,
  chains: Chain[],
  adapt: (core: Parts) => Parts = (core) => core,
): Running {
  const stopping = new AbortController();
  const events: ExecutorEvent[] = [];
  const loops = openParts(partsFor(store, chains), stopping.signal).map((core) => {
    const report = (event: ExecutorEvent) => {
      events.push(event);
      core.report(event);
    };
    return run(adapt({ ...core, report }), stopping.signal);
  });
  return {
    events,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

/**
 * Selects PostgreSQL if TEST_DATABASE=postgres. `npm run test:long` runs some tests again with this
 * setting.
 */
async function placeStore(dataDirectory: string): Promise<Parameters<typeof openStore>[0]> {
  if (process.env.TEST_DATABASE !== "postgres") return { dataDirectory };
  const postgres = await startPostgres();
  after(postgres.stop);
  return { databaseUrl: postgres.url, dataDirectory };
}

/**
 * Starts a chain, and opens a database in a new directory. The chain and the database are removed
 * after all tests of the calling file.
 * @param options.startSeconds as in {@link startWorld}
 * @param options.tickMs the interval between blocks; if absent, the test mines all blocks
 * @param options.blockSeconds each block advances the chain's clock by this number of seconds plus
 * the elapsed time
 */
export async function prepare(
  options: { startSeconds?: number; tickMs?: number; blockSeconds?: number } = {},
) {
  const directory = mkdtempSync(join(tmpdir(), "executor-"));
  const place = await placeStore(directory);
  const store = await openStore(place);
  after(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const world = await startWorld(options);
  after(world.stop);
  if (options.tickMs) world.startTicking(options.tickMs, options);
  return { world, store, directory, place };
}

/**
 * Returns whether every assigned nonce was used, which means that the executor has no pending
 * transaction.
 */
export async function isAtRest(store: Store): Promise<boolean> {
  const pending = await store.db
    .selectFrom("executor_purposes")
    .select("id")
    .where("state", "=", "pending")
    .execute();
  return pending.length === 0;
}

/** Returns the sum of a column of the report, in wei. */
export async function sumOfReport(store: Store, column: string): Promise<bigint> {
  const [head, ...lines] = formatCsv(await readReport(store.db))
    .trimEnd()
    .split("\r\n");
  const at = head!.split(",").indexOf(column);
  return lines.reduce((sum, line) => sum + BigInt(line.split(",")[at]!), 0n);
}

/**
 * Asserts that the report's total gas cost equals that of all transactions of the executor's keys.
 */
export async function assertReportIsExact(world: AnvilWorld, store: Store): Promise<void> {
  const sent = await sentOn(world);
  const paid = sent.reduce((sum, { receipt }) => sum + paidIn(receipt), 0n);
  assert.ok(paid > 0n);
  assert.equal(await sumOfReport(store, "gasWei"), paid);
}

/**
 * Asserts that the report's gas and tips equal those in the transactions' receipts, by account and
 * day. Also asserts that each transaction is for only one account.
 */
export async function assertBooksAreExact(world: AnvilWorld, store: Store): Promise<void> {
  const wanted = new Map<string, { gas: bigint; tips: bigint }>();
  for (const { receipt, timestamp } of await sentOn(world)) {
    const payers = await payersOf(store, receipt.transactionHash);
    const accounts = new Set(payers.values());
    assert.ok(accounts.size <= 1, `${receipt.transactionHash} is for ${[...accounts]}`);
    const day = new Date(Number(timestamp) * 1000).toISOString().slice(0, 10);
    const line = `${day} ${[...accounts][0] ?? ""}`;
    const { gas, tips } = wanted.get(line) ?? { gas: 0n, tips: 0n };
    wanted.set(line, { gas: gas + paidIn(receipt), tips: tips + tipsIn(receipt, payers, world) });
  }
  const found = (await readReport(store.db))
    .map((row) => [`${row.day} ${row.accountId}`, BigInt(row.gasWei), BigInt(row.tipsWei)] as const)
    .filter(([, gas, tips]) => gas !== 0n || tips !== 0n);
  assert.ok([...wanted.values()].some(({ tips }) => tips > 0n));
  assert.deepEqual(new Map(found.map(([line, gas, tips]) => [line, { gas, tips }])), wanted);
}

/** Returns the receipts of all transactions that the tests' keys sent on the chain. */
async function sentOn({ client }: AnvilWorld) {
  const newest = Number(await client.getBlockNumber());
  const blocks = await Promise.all(
    Array.from({ length: newest + 1 }, (_, number) =>
      client.getBlock({ blockNumber: BigInt(number), includeTransactions: true }),
    ),
  );
  const senders: string[] = twoKeys.map(({ address }) => address.toLowerCase());
  const sent = blocks.flatMap(({ transactions, timestamp }) =>
    transactions
      .filter(({ from }) => senders.includes(from.toLowerCase()))
      .map(({ hash }) => ({ hash, timestamp })),
  );
  return Promise.all(
    sent.map(async ({ hash, timestamp }) => {
      return { receipt: await client.getTransactionReceipt({ hash }), timestamp };
    }),
  );
}

const paidIn = ({ gasUsed, effectiveGasPrice }: TransactionReceipt) => gasUsed * effectiveGasPrice;

/**
 * Returns the value of a transaction's tips in wei. The test's configuration contains the price of
 * the token. A tip is a transfer from one of the addresses to the transaction's sender.
 */
function tipsIn(
  { logs, from }: TransactionReceipt,
  payers: ReadonlyMap<Hex, string>,
  { token }: AnvilWorld,
): bigint {
  return parseEventLogs({ abi: demoToken.abi, eventName: "Transfer", logs })
    .filter(({ address, args }) => {
      const isPaid = args.to.toLowerCase() === from && payers.has(lowerAddress(args.from));
      return isPaid && address === token.toLowerCase();
    })
    .reduce((sum, { args }) => sum + (args.value * weiOfUnit) / unit, 0n);
}

/** Returns the addresses that a transaction executes or recovers, each with its account. */
async function payersOf(store: Store, hash: Hex): Promise<Map<Hex, string>> {
  const rows = await store.db
    .selectFrom("executor_transactions")
    .innerJoin(
      "executor_purpose_addresses as of",
      "of.purpose_id",
      "executor_transactions.purpose_id",
    )
    .innerJoin("records", "records.address", "of.address")
    .select(["records.address", "records.account_id"])
    .where("executor_transactions.hash", "=", hash)
    .execute();
  return new Map(rows.map((row) => [toHex(row.address), row.account_id]));
}
