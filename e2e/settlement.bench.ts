// npm run bench:settlement measures how long clients wait until a payment is settled. The bench
// uses only the public API and the chain, not the service's database.
//
// - steady: one payment per second. Reports the time from a payment's block to its execution's
//   block. Also reports the time from the execution until the merchant's server receives the
//   webhook `address.executed`.
// - cohort: many payments at the same time. The bench doubles the number of payments until an
//   execution takes more than 60 s.
// - soak: a longer run at half the rate of the largest cohort. The backlog must not grow.
//
// Each combination of a database type and a block time has its own chain and service. The service
// shares the machine with the load generator. A separate machine would give results that are at
// least as good.
//
// BLOCK_SECONDS, DATABASES, STEADY_SECONDS, SOAK_SECONDS, and COHORT_MAX configure the runs.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "executable-address/client";
import { verifyWebhook } from "executable-address/webhook";
import { demoToken, factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { encodeFunctionData, type Hex, parseEventLogs } from "viem";
import {
  demoTokens,
  executorKey,
  localChainId,
  localWallet,
  payerAccount,
} from "../scripts/local-chain.ts";
import { quantile } from "../service/testing/median.ts";
import { startPostgres } from "../service/testing/postgres.ts";
import { addAccounts, type Running, startService } from "./service.ts";

const readNumber = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const readList = (name: string, otherwise: string) =>
  (process.env[name] ?? otherwise).split(",").map((each) => each.trim());

const blockTimes = readList("BLOCK_SECONDS", "1,2,12").map(Number);
const databases = readList("DATABASES", "sqlite,postgres");
const steadySeconds = readNumber("STEADY_SECONDS", 60);
const soakSeconds = readNumber("SOAK_SECONDS", 120);
const cohortMax = readNumber("COHORT_MAX", 6400);
const cohortMin = 100;
/**
 * The maximum time, in chain time, from a payment's block to its execution's block. A cohort fails
 * if one payment takes longer.
 */
const cohortSecondsMax = 60;
/** The bench fails if it waits longer than this for a payment's execution and webhook. */
const giveUpMs = 300_000;

const amount = 25_000_000n;
const token = demoTokens[0]!.address;
/**
 * The addresses belong to several accounts, because the executor divides its budget and its work
 * among accounts.
 */
const accountCount = 10;
/** The local chain's block gas limit, which is below that of Base (spec/header-vectors.json). */
const blockGas = 60_000_000;

type Block = { timestamp: number; seenAtMs: number };
type Payment = { paidIn?: Block; executedIn?: Block; deliveredAtMs?: number };
type Receiver = Awaited<ReturnType<typeof startReceiver>>;
type Deployment = Awaited<ReturnType<typeof connect>>;

const startOn = (databaseUrl: string | undefined) =>
  startService({
    ROLE: "all",
    EXECUTOR_KEY: executorKey,
    EXECUTOR_GAS_PER_DAY_MAX: String(10n ** 21n),
    EXECUTOR_GAS_PER_ACCOUNT_MAX: String(10n ** 20n),
    WEBHOOK_TARGETS: "any",
    LOG_LEVEL: "error",
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  });

async function connect(
  running: Running,
  receiver: Receiver,
  payments: Map<string, Payment>,
  blockSeconds: number,
) {
  const emails = Array.from({ length: accountCount }, (_, index) => `shop-${index}@example.com`);
  const clients = (await addAccounts(running.env, emails)).map(({ apiKey }) =>
    createClient({ baseUrl: running.baseUrl, apiKey, retriesMax: 10 }),
  );
  for (const client of clients) {
    const { secret } = await client.webhooks.create({
      url: receiver.url,
      types: ["address.executed"],
    });
    receiver.secrets.push(secret);
  }
  const payer = await openPayer(running.anvil.rpcUrl, blockSeconds);
  return { payments, clients, ...payer };
}

/** A merchant's server that verifies each delivery and records its arrival time. */
async function startReceiver(payments: ReadonlyMap<string, Payment>) {
  const secrets: string[] = [];
  const server = createServer(async (request, response) => {
    const arrivedAtMs = performance.now();
    const body = Buffer.concat(await request.toArray());
    response.writeHead(204).end();
    for (const secret of secrets) {
      const event = await verifyWebhook(body, request.headers, { secret }).catch(() => undefined);
      if (event?.type !== "address.executed") continue;
      const payment = payments.get(event.data.address.toLowerCase());
      if (payment) payment.deliveredAtMs ??= arrivedAtMs;
      return;
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    secrets,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A wallet with enough tokens. The wallet signs transfers without waiting for receipts. */
async function openPayer(rpcUrl: string, blockSeconds: number) {
  const wallet = localWallet(rpcUrl, payerAccount);
  const write = { address: token, abi: demoToken.abi, functionName: "mint" } as const;
  await wallet.writeContract({ ...write, args: [payerAccount.address, 10n ** 18n] });
  const request = (method: string, ...params: unknown[]) =>
    wallet.request({ method, params } as never);
  await request("evm_setBlockGasLimit", `0x${blockGas.toString(16)}`);
  await request("evm_setAutomine", false);
  await request("evm_setIntervalMining", blockSeconds);
  let nonce = await wallet.getTransactionCount({ address: payerAccount.address });
  const sign = (to: Hex) =>
    wallet.signTransaction({
      type: "eip1559",
      to: token,
      data: encodeFunctionData({
        abi: demoToken.abi,
        functionName: "transfer",
        args: [to, amount],
      }),
      nonce: nonce++,
      gas: 100_000n,
      maxFeePerGas: 10n ** 11n,
      maxPriorityFeePerGas: 10n ** 9n,
    });
  const pay = async (addresses: readonly Hex[]) => {
    const signed: Hex[] = [];
    for (const address of addresses) signed.push(await sign(address));
    for (const serializedTransaction of signed) {
      await wallet.sendRawTransaction({ serializedTransaction });
    }
  };
  return { wallet, pay };
}

/** Reads the chain's logs, and records the block of each payment and each execution. */
function watchChain(wallet: ReturnType<typeof localWallet>, payments: Map<string, Payment>) {
  let isStopped = false;
  const run = async () => {
    let next = (await wallet.getBlockNumber({ cacheTime: 0 })) + 1n;
    while (!isStopped) {
      const newest = await wallet.getBlockNumber({ cacheTime: 0 });
      for (; next <= newest; next++) {
        const seenAtMs = performance.now();
        const { timestamp } = await wallet.getBlock({ blockNumber: next });
        const block = { timestamp: Number(timestamp), seenAtMs };
        const logs = await wallet.getLogs({
          address: [token, factoryAddress],
          fromBlock: next,
          toBlock: next,
        });
        const abi = [...demoToken.abi, ...paymentFactoryAbi];
        for (const log of parseEventLogs({ abi, logs })) {
          if (log.eventName === "Transfer") {
            const payment = payments.get(log.args.to.toLowerCase());
            if (payment) payment.paidIn ??= block;
          }
          if (log.eventName === "Executed") {
            const payment = payments.get(log.args.vault.toLowerCase());
            if (payment?.executedIn) throw new Error(`${log.args.vault} was executed twice`);
            if (payment) payment.executedIn = block;
          }
        }
      }
      await sleep(20);
    }
  };
  const ended = run();
  return {
    ended,
    stop: () => {
      isStopped = true;
      return ended;
    },
  };
}

/** Creates addresses through the API. Each intent is a transfer to a shop. */
async function createAddresses({ clients, payments }: Deployment, count: number): Promise<Hex[]> {
  const shop = payerAccount.address;
  const addresses: Hex[] = [];
  const create = async (client: Deployment["clients"][number], share: number) => {
    for (let made = 0; made < share; made++) {
      const { address } = await client.create({
        token,
        amount: String(amount),
        calls: [
          {
            target: token,
            function: "transfer(address to, uint256 value)",
            args: [shop, String(amount)],
          },
        ],
        expirationTimestamp: Math.floor(Date.now() / 1000) + 86_400,
        recovery: shop,
        chainId: localChainId,
      });
      payments.set(address.toLowerCase(), {});
      addresses.push(address);
    }
  };
  await Promise.all(
    clients.map((client, index) => {
      const share = Math.floor((count + index) / clients.length);
      return create(client, share);
    }),
  );
  return addresses;
}

type Settled = Required<Payment>;

/** Waits until every address has been executed and its webhook has arrived. */
async function settle({ payments }: Deployment, addresses: readonly Hex[]): Promise<Settled[]> {
  const started = performance.now();
  for (;;) {
    const found = addresses.map((address) => payments.get(address.toLowerCase())!);
    const isSettled = ({ executedIn, deliveredAtMs }: Payment) => executedIn && deliveredAtMs;
    if (found.every(isSettled)) return found as Settled[];
    if (performance.now() - started > giveUpMs) {
      const missing = found.filter((payment) => !isSettled(payment)).length;
      throw new Error(`${missing} of ${found.length} payments did not settle in ${giveUpMs} ms`);
    }
    await sleep(50);
  }
}

const settlementSeconds = ({ paidIn, executedIn }: Settled) =>
  executedIn.timestamp - paidIn.timestamp;
/**
 * Returns the time from the execution's block until the webhook, as this process sees both. The
 * time is 0 if the webhook arrived first.
 */
const webhookMs = ({ executedIn, deliveredAtMs }: Settled) =>
  Math.max(0, deliveredAtMs - executedIn.seenAtMs);

function describeQuantiles(values: readonly number[], unit: string): string {
  const parts = [0.5, 0.95, 0.99].map(
    (share) => `p${share * 100} ${quantile(values, share).toFixed(0)} ${unit}`,
  );
  return parts.join(", ");
}

async function measureSteady(deployment: Deployment): Promise<void> {
  const addresses = await createAddresses(deployment, steadySeconds);
  for (const address of addresses) {
    await Promise.all([deployment.pay([address]), sleep(1000)]);
  }
  const settled = await settle(deployment, addresses);
  console.log(
    `  steady, 1 payment/s, ${settled.length} payments: ` +
      `settlement ${describeQuantiles(settled.map(settlementSeconds), "s")}; ` +
      `webhook ${describeQuantiles(settled.map(webhookMs), "ms")}`,
  );
}

/** Returns the size of the largest cohort that passes. */
async function measureCohorts(deployment: Deployment): Promise<number> {
  let largest = 0;
  for (let size = cohortMin; size <= cohortMax; size *= 2) {
    const addresses = await createAddresses(deployment, size);
    await deployment.pay(addresses);
    const settled = await settle(deployment, addresses);
    const first = Math.min(...settled.map(({ paidIn }) => paidIn.timestamp));
    const last = Math.max(...settled.map(({ executedIn }) => executedIn.timestamp));
    console.log(
      `  cohort of ${size}: ${last - first} s from the first payment to the last execution; ` +
        `settlement ${describeQuantiles(settled.map(settlementSeconds), "s")}`,
    );
    if (settled.some((each) => settlementSeconds(each) > cohortSecondsMax)) break;
    largest = size;
  }
  console.log(`  largest cohort settled within ${cohortSecondsMax} s: ${largest}`);
  return largest;
}

async function measureSoak(deployment: Deployment, perSecond: number): Promise<void> {
  const addresses = await createAddresses(deployment, perSecond * soakSeconds);
  const backlogs: number[] = [];
  const countBacklog = () => {
    const found = addresses.map((address) => deployment.payments.get(address.toLowerCase())!);
    return found.filter(({ paidIn, executedIn }) => paidIn && !executedIn).length;
  };
  for (let second = 0; second < soakSeconds; second++) {
    const due = addresses.slice(second * perSecond, (second + 1) * perSecond);
    await Promise.all([deployment.pay(due), sleep(1000)]);
    backlogs.push(countBacklog());
  }
  const settled = await settle(deployment, addresses);
  const half = backlogs.length >> 1;
  const [early, late] = [backlogs.slice(0, half), backlogs.slice(half)];
  console.log(
    `  soak, ${perSecond} payments/s for ${soakSeconds} s: ` +
      `settlement ${describeQuantiles(settled.map(settlementSeconds), "s")}; ` +
      `backlog, median of the first half ${quantile(early, 0.5)}, ` +
      `of the second half ${quantile(late, 0.5)}, largest ${Math.max(...backlogs)}`,
  );
}

async function measure(database: string, blockSeconds: number): Promise<void> {
  const payments = new Map<string, Payment>();
  await using stack = new AsyncDisposableStack();
  const postgres = database === "postgres" ? await startPostgres() : undefined;
  stack.defer(() => postgres?.stop());
  const receiver = await startReceiver(payments);
  stack.defer(receiver.stop);
  const running = await startOn(postgres?.url);
  stack.defer(running.stop);
  const deployment = await connect(running, receiver, payments, blockSeconds);
  const watcher = watchChain(deployment.wallet, payments);
  stack.defer(watcher.stop);
  console.log(`${database}, blocks of ${blockSeconds} s`);
  const measureAll = async () => {
    await measureSteady(deployment);
    const largest = await measureCohorts(deployment);
    await measureSoak(deployment, Math.max(1, Math.floor(largest / cohortSecondsMax / 2)));
  };
  // If the observer fails, the bench must fail too. Without the observer, the bench would wait
  // forever.
  await Promise.race([measureAll(), watcher.ended]);
}

for (const database of databases) {
  for (const blockSeconds of blockTimes) await measure(database, blockSeconds);
}
