// Starts a chain with the factory and two tokens, for tests of the executor. Also contains
// functions that create many intents and payments, and a check of every address's outcome.

import { setTimeout as sleep } from "node:timers/promises";
import { type AddressRecord, fromHex, type Hex, makeRecord } from "executable-address";
import {
  demoToken,
  factoryAddress,
  paymentFactoryAbi,
  periphery,
} from "executable-address-contracts";
import {
  createTestClient,
  encodeFunctionData,
  getAddress,
  http,
  keccak256,
  publicActions,
  stringToHex,
  walletActions,
} from "viem";
import { anvilChain } from "../../../contracts/anvil.ts";
import { startLocalNode } from "../../../contracts/testing/local-node.ts";
import { demoTokens, deployDemo, executorKey, localChainId } from "../../../scripts/local-chain.ts";
import { parseChains } from "../../chain/chains.ts";
import type { Store } from "../../store/store.ts";

const payer: Hex = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
export const shop: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

export type AnvilWorld = Awaited<ReturnType<typeof startWorld>>;

export type Wish = {
  amount?: bigint;
  /** The tip for the executor, in addition to `amount`. */
  tip?: bigint;
  /** If true, the transfer exceeds the balance, so the execution always reverts. */
  reverts?: boolean;
  secondsLeft?: number;
  chainId?: number;
};

/**
 * Starts the chain. The chain mines a block when the test calls `mine`. After a call of
 * `startTicking`, the chain also mines blocks at an interval.
 * @param options.startSeconds the initial time of the chain's clock; by default, the host's time
 */
export async function startWorld(options: { startSeconds?: number } = {}) {
  const node = await startLocalNode({ gasLimit: 60_000_000, ...options });
  await deployDemo(node.rpcUrl);
  const client = clientOf(node.rpcUrl);
  await client.setAutomine(false);
  const ask = asker(node.rpcUrl);
  let made = 0;
  let ticking: NodeJS.Timeout | undefined;
  const stopTicking = () => clearInterval(ticking);

  return {
    rpcUrl: node.rpcUrl,
    client,
    token,
    otherToken,
    ask,
    /**
     * Mines a block every `ms` milliseconds if `isDue` returns true.
     * @param options.blockSeconds the seconds that each block adds to the chain's clock, besides
     * the elapsed time
     */
    startTicking(ms: number, { isDue = (): boolean => true, blockSeconds = 0 } = {}) {
      const tick = async () => {
        if (blockSeconds > 0) await client.increaseTime({ seconds: blockSeconds });
        await client.mine({ blocks: 1 });
      };
      // Mines no block while the node is still mining the previous block. Otherwise, requests would
      // accumulate on a slow machine.
      let isMining = false;
      ticking = setInterval(async () => {
        if (isMining || !isDue()) return;
        isMining = true;
        await tick().catch(() => {});
        isMining = false;
      }, ms);
    },
    stopTicking,
    mine: (blocks = 1) => client.mine({ blocks }),

    async newRecord(wish: Wish = {}): Promise<AddressRecord> {
      const { timestamp } = await client.getBlock();
      return recordOf(wish, made++, Number(timestamp));
    },

    /** Sends payments to the node, without waiting for a block. */
    async pay(payments: readonly Payment[]) {
      // Sets the nonces explicitly, because anvil can assign a nonce twice while it mines.
      const first = await client.getTransactionCount({ address: payer, blockTag: "pending" });
      const calls = payments.map((payment, index) => payCall(payment, first + index));
      const refused = (await ask(calls)).find((answer) => answer.error);
      if (refused) throw new Error(refused.error?.message);
    },

    balanceOf: (owner: Hex, of = token, blockNumber?: bigint) =>
      client.readContract({
        ...(blockNumber === undefined ? {} : { blockNumber }),
        address: of,
        abi: demoToken.abi,
        functionName: "balanceOf",
        args: [owner],
      }),

    /** Returns the parsed content of a CHAINS_FILE whose only entry is this chain. */
    chains(rpcUrls: string[] = [node.rpcUrl], more: object = {}) {
      const local = { chainId: localChainId, name: "Local", tokens: demoTokens, ...atOnce };
      return parseChains([{ ...local, rpcUrls, ...more }], "test");
    },

    async stop() {
      stopTicking();
      await node.stop();
    },
  };
}

/** With these settings, a transaction is final as soon as it is mined. */
const atOnce = { confirmations: 0, finality: "blocks" };

const [token, otherToken] = demoTokens.map((entry) => getAddress(entry.address)) as [Hex, Hex];

type Payment = { to: Hex; amount: bigint | string; token?: Hex };

const clientOf = (rpcUrl: string) =>
  createTestClient({
    chain: anvilChain,
    // In the mode `hardhat`, viem calls methods such as hardhat_mine, which anvil also accepts.
    mode: "hardhat",
    transport: http(rpcUrl, { batch: true }),
    pollingInterval: 20,
    cacheTime: 0,
    account: payer,
  })
    .extend(publicActions)
    .extend(walletActions);

/** Returns calls that pay `amount` of the first token to the executor as a tip. */
export const tipCalls = (amount: bigint) => {
  const { address } = periphery.tip;
  const [approve, tip] = [
    "approve(address spender, uint256 amount)",
    "tip(address token, uint256 amount)",
  ];
  return [
    { target: token, function: approve, args: [address, `${amount}`] },
    { target: address, function: tip, args: [token, `${amount}`] },
  ];
};

/**
 * `unit` is one whole unit of the first token, in base units. `weiOfUnit` is the price of this unit
 * in wei. `tipPrices` is the chain's setting with this price.
 */
export const unit = 10n ** BigInt(demoTokens[0]!.decimals);
export const weiOfUnit = 10n ** 16n;
export const tipPrices = { [demoTokens[0]!.symbol]: `${weiOfUnit}` };

/** Returns a function that sends JSON-RPC calls as one batch. */
function asker(rpcUrl: string) {
  return async (calls: { method: string; params: unknown[] }[]) => {
    const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    const response = await fetch(rpcUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { result?: unknown; error?: { message: string } }[];
  };
}

/**
 * Creates a record whose last call sends `amount` to the shop. Each intent has its own recovery
 * address.
 */
function recordOf(wish: Wish, index: number, now: number): AddressRecord {
  const amount = wish.amount ?? 1_000n + BigInt(index);
  const requested = wish.reverts ? amount * 2n : amount;
  const { tip = 0n } = wish;
  const seed = keccak256(stringToHex(`intent ${index}`));
  const call = { target: token, function: "transfer(address to, uint256 amount)" };
  return makeRecord({
    token,
    amount: `${amount + tip}`,
    calls: [...(tip ? tipCalls(tip) : []), { ...call, args: [shop, `${requested}`] }],
    expirationTimestamp: now + (wish.secondsLeft ?? 86_400),
    recovery: getAddress(`0x${seed.slice(-40)}`),
    salt: seed,
    chainId: wish.chainId ?? localChainId,
  });
}

function payCall(payment: Payment, nonce: number) {
  const args = [payment.to, BigInt(payment.amount)] as const;
  const data = encodeFunctionData({ ...demoToken, functionName: "mint", args });
  const to = payment.token ?? token;
  const call = { from: payer, to, data, gas: "0x20000", nonce: `0x${nonce.toString(16)}` };
  return { method: "eth_sendTransaction", params: [call] };
}

export async function saveRecords(
  store: Store,
  records: readonly AddressRecord[],
  accountId = "acc_000000000000000000000000",
): Promise<void> {
  await Promise.all(
    records.map((record) =>
      store.saveRecord({
        address: fromHex(record.address),
        terms: fromHex(record.terms),
        accountId,
        createdAtMs: Date.now(),
      }),
    ),
  );
}

/**
 * The account that owns all addresses that pay tips. The executor never puts these addresses into a
 * transaction with addresses of other accounts.
 */
export const tipper = "acc_777000000000000000000000";

/** The executor's configuration for tests. */
export const testConfig = {
  executorKey,
  executorPollMs: 100,
  executorLeaseSeconds: 1,
  executorRecordsPerPass: 450,
  executorReportedTokensPerDay: 10,
  executorGasPerDayMax: String(10n ** 24n),
  executorGasPerAccountMax: String(10n ** 24n),
  executorGasPerClientIdMax: String(10n ** 24n),
  executorPays: "both" as const,
  executorBalanceWarn: "0",
};

export type Fate = { executed: number; recovered: bigint; held: bigint };

/**
 * Reads the outcome of each address at one block, from the factory's events and the token's
 * balances. Checks that all money was spent by the vault's calls, was returned, or is still in the
 * vault.
 * @throws if the amounts do not add up, or if a vault was executed more than once
 */
export async function fatesOf(
  world: AnvilWorld,
  records: readonly AddressRecord[],
): Promise<Fate[]> {
  for (let attempt = 0; ; attempt++) {
    const { fates, broken } = await readFates(world, records);
    if (!broken) return fates;
    // Tries again, because anvil reports a new block number shortly before it returns the block's
    // logs.
    if (attempt === 5) throw new Error(broken);
    await sleep(200);
  }
}

async function readFates(
  { client, token, balanceOf }: AnvilWorld,
  records: readonly AddressRecord[],
): Promise<{ fates: Fate[]; broken: string | undefined }> {
  const toBlock = await client.getBlockNumber();
  const range = { fromBlock: 0n, toBlock, strict: true } as const;
  const executed = {
    address: factoryAddress,
    abi: paymentFactoryAbi,
    eventName: "Executed",
  } as const;
  const transferred = { address: token, abi: demoToken.abi, eventName: "Transfer" } as const;
  const usedBy = (owners: readonly Hex[]) =>
    Promise.all(owners.map((owner) => balanceOf(owner, token, toBlock)));
  // The client sends the following calls in one batch.
  const [executions, transfers, recoveries, holdings] = await Promise.all([
    client.getContractEvents({ ...executed, ...range }),
    client.getContractEvents({ ...transferred, ...range }),
    usedBy(records.map(({ intent }) => intent.recovery)),
    usedBy(records.map(({ address }) => address)),
  ]);
  const paid = new Map<Hex, bigint>();
  for (const { args } of transfers) paid.set(args.to, (paid.get(args.to) ?? 0n) + args.value);
  let broken: string | undefined;
  const fates = records.map(({ address, intent }, index) => {
    const executed = executions.filter((event) => event.args.vault === address).length;
    const spent = executed > 0 ? BigInt(intent.amount) : 0n;
    const [recovered, held] = [recoveries[index]!, holdings[index]!];
    const entered = paid.get(address) ?? 0n;
    if (executed > 1) broken = `${address} executed ${executed} times`;
    if (entered !== spent + recovered + held) {
      broken = `${entered} entered ${address}: ${spent} + ${recovered} + ${held} are found`;
    }
    return { executed, recovered, held };
  });
  return { fates, broken };
}

/**
 * Polls until `isDone` returns true. After `seconds`, throws an error that contains `what`. The
 * default is long enough for a slow machine.
 */
export async function until(what: string, isDone: () => Promise<boolean>, seconds = 300) {
  const deadline = performance.now() + seconds * 1000;
  while (!(await isDone())) {
    if (performance.now() > deadline) throw new Error(`waited ${seconds} s in vain until ${what}`);
    await sleep(100);
  }
}
