// Starts a chain and a database for the tests of attacks on the executor. Contains hostile
// contracts, and functions that pay addresses and check the outcome.

import assert from "node:assert/strict";
import { type AddressRecord, fromHex, type Hex, makeRecord, toHex } from "executable-address";
import { factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { getAddress, parseEventLogs } from "viem";
import { isLong } from "../../../scripts/long.ts";
import type { Parts } from "../../../service/executor/pass.ts";
import { fatesOf, shop, testConfig, until } from "../../../service/testing/executor/anvil-world.ts";
import { partsFor, prepare } from "../../../service/testing/executor/executor.ts";

export { fatesOf, testConfig, until };

/** In `npm run test:long`, returns `long`. In `npm test`, returns `short`. */
export const count = (short: number, long: number) => (isLong ? long : short);
/**
 * Makes `npm test` skip a slow control test. A control test shows that an attack would succeed
 * without the protection.
 */
export const control = { skip: isLong ? false : "npm run test:long" };

export const attacker = "acc_bad00000000000000000000a";
export const victim = "acc_900d0000000000000000000a";

/** Burns all its gas for any call: JUMPDEST PUSH0 JUMP. */
export const burnsAll: Hex = "0x5b5f56";

/** Burns 27 million gas in a loop, and then accepts the call. */
export const burns27Million: Hex = "0x5a5b5a810363019bfcc01160015700";

/**
 * Calls the blake2f precompile with `rounds` rounds. Each round costs only one gas, but a node
 * needs a long time for many rounds. Fails if it gets too little gas.
 */
export const blake2f = (rounds: number): Hex =>
  `0x63${rounds.toString(16).padStart(8, "0")}60e01b5f5260405f60d55f60095afa15601957005bfe`;

/**
 * Mines at most one block per `ms` milliseconds, and at most one block per poll of the executor. So
 * the machine's speed does not affect the number of blocks until an execution.
 */
export function paceBlocks({ world }: Pick<Attack, "world">, ms: number) {
  let polls = 0;
  let pollsAtBlock = 0;
  const isDue = () => {
    const hasPolled = polls > pollsAtBlock;
    pollsAtBlock = polls;
    return hasPolled;
  };
  world.startTicking(ms, { isDue });
  /** Counts polls. Each wait is one poll, because the executor waits only at the end of a poll. */
  return (core: Parts): Parts => ({
    ...core,
    waitForPoll(waitMs) {
      polls++;
      return core.waitForPoll(waitMs);
    },
  });
}

/**
 * Makes simulations take no time on the executor's clock. On a busy machine, the executor could
 * otherwise treat an account as slow, and simulate the account's addresses one by one.
 */
export function inNoTime(core: Parts): Parts {
  let nowMs = core.clock();
  return {
    ...core,
    clock: () => nowMs,
    endpoints: core.endpoints.map(({ name, ask }) => ({ name, ask: (calls) => ask(calls) })),
    async waitForPoll(ms) {
      await core.waitForPoll(ms);
      nowMs = core.clock();
    },
  };
}

export async function prepareAttack(options: { tickMs?: number; startSeconds?: number } = {}) {
  const { world, store, directory } = await prepare(options);
  const recordOf = recordMaker(world);
  let contracts = 0n;

  const save = (records: readonly AddressRecord[], accountId: string, isClientId = false) =>
    Promise.all(
      records.map((record) =>
        store.saveRecord({
          address: fromHex(record.address),
          terms: fromHex(record.terms),
          accountId,
          isClientId,
          createdAtMs: Date.now(),
        }),
      ),
    );

  const pay = (records: readonly AddressRecord[], amount?: bigint) =>
    world.pay(records.map((r) => ({ to: r.address, amount: amount ?? BigInt(r.intent.amount) })));

  /** Creates addresses of the account, and sends payments without mining them. */
  const funded = async (many: number, accountId: string, change: object = {}) => {
    const records = await Promise.all(Array.from({ length: many }, () => recordOf(change)));
    await save(records, accountId);
    await pay(records);
    return records;
  };

  return {
    world,
    store,
    directory,
    recordOf,
    save,
    pay,
    funded,
    /** Like `funded`, and waits until the payments are in a block. */
    async fundedInBlock(many: number, accountId: string, change: object = {}) {
      const records = await funded(many, accountId, change);
      await world.mine();
      return records;
    },
    /** Deploys a contract that consists of this code, at a new address. */
    async contract(code: Hex): Promise<Hex> {
      const address = getAddress(`0x${(0xc0de0000n + ++contracts).toString(16).padStart(40, "0")}`);
      await world.client.setCode({ address, bytecode: code });
      return address;
    },
    jobOf: async (address: Hex) => {
      const rows = await store.db.selectFrom("executor_jobs").selectAll().execute();
      return rows.find((row) => toHex(row.address) === address.toLowerCase());
    },
    /**
     * Makes payments to addresses of an honest account. Returns how many blocks each execution
     * took.
     */
    async goodPayments(many: number, accountId = victim): Promise<number[]> {
      const records = await funded(many, accountId);
      const from = await world.client.getBlockNumber();
      await until("the good payments are executed", async () =>
        (await fatesOf(world, records)).every((fate) => fate.executed === 1),
      );
      return blocksWaited(world, records, from);
    },
    chargedTo: (accountId: string) => readCharged(store, accountId),
    partsFor: (more: Partial<typeof testConfig>, chains = world.chains()) =>
      partsFor(store, chains, more),
  };
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Returns a function that creates records whose intents expire in a day. */
function recordMaker({ client, token }: Prepared["world"]) {
  let salt = 0n;
  return async (change: object = {}): Promise<AddressRecord> => {
    const { timestamp } = await client.getBlock();
    return makeRecord({
      token,
      amount: "1000",
      calls: [
        {
          target: token,
          function: "transfer(address to, uint256 amount)",
          args: [shop, "1000"],
        },
      ],
      expirationTimestamp: Number(timestamp) + 86_400,
      recovery: getAddress(`0x${(0xabc000n + salt).toString(16).padStart(40, "0")}`),
      salt: `0x${(++salt).toString(16).padStart(64, "0")}`,
      chainId: 31_337,
      ...change,
    });
  };
}

/** Returns the number of blocks from `from` to the execution of each record. */
async function blocksWaited(
  { client }: Prepared["world"],
  records: readonly AddressRecord[],
  from: bigint,
): Promise<number[]> {
  const logs = await client.getLogs({ address: factoryAddress, fromBlock: from });
  const executions = parseEventLogs({ abi: paymentFactoryAbi, eventName: "Executed", logs });
  const vaults = new Set(records.map(({ address }) => address));
  return executions
    .filter(({ args }) => vaults.has(args.vault))
    .map(({ blockNumber }) => Number(blockNumber - from));
}

/**
 * Returns the gas cost, in wei, that the account was charged. Pending transactions count with their
 * maximum fees.
 */
async function readCharged({ db }: Prepared["store"], accountId: string): Promise<bigint> {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .where("account_id", "=", accountId)
    .execute();
  return rows.reduce((sum, row) => sum + BigInt(row.wei), 0n);
}

export type Attack = Awaited<ReturnType<typeof prepareAttack>>;

/**
 * Checks that no money is lost. Every unit was used by the calls, was sent to `recovery`, or is
 * still at the address.
 */
export async function assertAccounted(
  { world }: Attack,
  records: readonly AddressRecord[],
): Promise<void> {
  // `fatesOf` does the check: it throws if money is missing or an address was executed twice.
  assert.equal((await fatesOf(world, records)).length, records.length);
}
