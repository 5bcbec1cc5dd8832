// Pays many addresses in one block, while many other addresses are open. Measures how many blocks,
// transactions, and RPC calls the executor needs to execute the paid addresses.

import { setTimeout } from "node:timers/promises";
import { type AddressRecord, fromHex, makeRecord } from "executable-address";
import { factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { getAddress, parseEventLogs, toHex } from "viem";
import type { ExecutorEvent } from "../../executor/events/event.ts";
import type { Parts } from "../../executor/pass.ts";
import type { Tuning } from "../../executor/settings.ts";
import type { Store } from "../../store/store.ts";
import { type AnvilWorld, shop, until } from "./anvil-world.ts";
import { startCore } from "./executor.ts";

const accounts = 40;
const savedAtOnce = 1000;
let made = 0;

/**
 * Saves `count` open addresses of 40 accounts. Then sets the executor's position to the last
 * record. The executor therefore does not examine these records as new.
 */
export async function openAddresses(
  world: AnvilWorld,
  store: Store,
  count: number,
): Promise<AddressRecord[]> {
  const { timestamp } = await world.client.getBlock();
  const records: AddressRecord[] = [];
  while (records.length < count) {
    const some = Array.from({ length: Math.min(savedAtOnce, count - records.length) }, () =>
      recordOf(world, made++, Number(timestamp)),
    );
    await Promise.all(some.map((record, index) => save(store, record, index % accounts)));
    records.push(...some);
  }
  // Cancels the next check of each address. Otherwise, the executor would check each address again
  // a minute after its execution.
  await store.db.updateTable("executor_jobs").set({ due_at: null }).execute();
  const { seq } = await store.db
    .selectFrom("records")
    .select((select) => select.fn.max("seq").as("seq"))
    .executeTakeFirstOrThrow();
  await store.db
    .insertInto("executor_looks")
    .values({ chain_id: records[0]!.intent.chainId, seq: Number(seq) })
    .onConflict((conflict) => conflict.column("chain_id").doUpdateSet({ seq: Number(seq) }))
    .execute();
  return records;
}

function recordOf({ token }: AnvilWorld, index: number, now: number): AddressRecord {
  const amount = String(1000 + index);
  const salt = toHex(0xb0057_000_000 + index, { size: 32 });
  const call = { target: token, function: "transfer(address to, uint256 amount)" };
  return makeRecord({
    token,
    amount,
    calls: [{ ...call, args: [shop, amount] }],
    expirationTimestamp: now + 86_400,
    recovery: getAddress(`0x${salt.slice(-40)}`),
    salt,
    chainId: 31_337,
  });
}

const save = (store: Store, { address, terms }: AddressRecord, account: number) =>
  store.saveRecord({
    address: fromHex(address),
    terms: fromHex(terms),
    accountId: `acc_b0057${String(account).padStart(19, "0")}`,
    createdAtMs: Date.now(),
  });

/** Pays all records in one block with a high gas limit. Later blocks have the usual limit. */
async function payInOneBlock({ client, mine, pay }: AnvilWorld, records: readonly AddressRecord[]) {
  const { gasLimit } = await client.getBlock();
  await client.setBlockGasLimit({ gasLimit: BigInt(records.length) * 200_000n });
  await pay(records.map(({ address, intent: { amount } }) => ({ to: address, amount })));
  await mine();
  await client.setBlockGasLimit({ gasLimit });
  const { number, transactions } = await client.getBlock();
  if (transactions.length !== records.length) {
    throw new Error(`${transactions.length} of ${records.length} payments are in block ${number}`);
  }
  return number;
}

export type Burst = {
  /** The number of blocks between the payments and the last execution. */
  blocks: number;
  transactions: number;
  /**
   * The number of JSON-RPC calls of each method until the executor has no more work. Calls in a
   * batch are counted separately.
   */
  calls: Map<string, number>;
  cpuSeconds: number;
  seconds: number;
  /** The durations of the passes in which the executor sent a transaction. */
  passesMs: number[];
};

type BurstOptions = {
  /**
   * The interval between blocks. If absent, one block is mined after each pass of the
   * executor.
   */
  blockMs?: number;
  /** The delay of each RPC request. */
  latencyMs?: number;
  endpoints?: number;
  tuning?: Partial<Tuning>;
};

/**
 * The factor by which the executor's clock runs slower if `blockMs` is absent. The slower clock
 * prevents timeouts.
 */
const slowness = 20;

/**
 * Pays `records` in one block while an executor is running. Resolves when all records are executed.
 */
export async function burst(
  world: AnvilWorld,
  store: Store,
  records: readonly AddressRecord[],
  { blockMs, latencyMs = 0, endpoints = 1, tuning }: BurstOptions,
): Promise<Burst> {
  const slow = blockMs ? 1 : slowness;
  const calls = new Map<string, number>();
  const passesMs: number[] = [];
  let isPaid = false;
  let beganMs = performance.now();
  let sentBefore = 0;
  const adapt = (core: Parts): Parts => ({
    ...core,
    tuning: { ...core.tuning, ...tuning },
    clock: () => performance.now() / slow,
    hasWebSocket: !blockMs,
    endpoints: core.endpoints.map((rpc) => ({
      name: rpc.name,
      async ask(requests, timeoutMs) {
        for (const { method } of requests) calls.set(method, (calls.get(method) ?? 0) + 1);
        if (latencyMs > 0) await setTimeout(latencyMs);
        return rpc.ask(requests, timeoutMs && timeoutMs * slow);
      },
    })),
    async waitForPoll(ms) {
      const sent = countOf("sent");
      if (sent > sentBefore) passesMs.push(performance.now() - beganMs);
      sentBefore = sent;
      if (isPaid && !blockMs) await mineNext(world);
      await core.waitForPoll(ms);
      beganMs = performance.now();
    },
  });
  const rpcUrls = Array.from({ length: endpoints }, () => world.rpcUrl);
  const running = startCore(store, world.chains(rpcUrls), adapt);
  const countOf = (wanted: ExecutorEvent["kind"]) =>
    running.events.filter(({ kind }) => kind === wanted).length;
  try {
    await until("it follows the chain", async () => countOf("pass") > 0);
    const paidIn = await payInOneBlock(world, records);
    isPaid = true;
    calls.clear();
    const cpu = process.cpuUsage();
    const paidMs = performance.now();
    if (blockMs) world.startTicking(blockMs);
    await until("all are executed", async () => countOf("executed") >= records.length);
    await until("all jobs are idle", () => isQuiet(store));
    const { user, system } = process.cpuUsage(cpu);
    const seconds = (performance.now() - paidMs) / 1000;
    const took = { cpuSeconds: (user + system) / 1e6, seconds, passesMs, calls: new Map(calls) };
    return { ...(await readExecutions(world, paidIn)), ...took };
  } finally {
    world.stopTicking();
    await running.stop();
  }
}

/** Mines a block whose timestamp is two seconds after the newest block's timestamp. */
async function mineNext({ client, mine }: AnvilWorld): Promise<void> {
  const { timestamp } = await client.getBlock();
  await client.setNextBlockTimestamp({ timestamp: timestamp + 2n });
  await mine();
}

async function isQuiet(store: Store): Promise<boolean> {
  const open = store.db.selectFrom("executor_jobs").select("address").where("state", "<>", "idle");
  return (await open.executeTakeFirst()) === undefined;
}

async function readExecutions({ client }: AnvilWorld, paidIn: bigint) {
  const logs = await client.getLogs({ address: factoryAddress, fromBlock: paidIn });
  const executions = parseEventLogs({ abi: paymentFactoryAbi, eventName: "Executed", logs });
  const hashes = new Set(executions.map(({ transactionHash }) => transactionHash));
  const last = executions.reduce((most, { blockNumber }) => Math.max(most, Number(blockNumber)), 0);
  return { blocks: last - Number(paidIn), transactions: hashes.size };
}

export const callsIn = ({ calls }: Burst): number =>
  [...calls.values()].reduce((sum, each) => sum + each, 0);
