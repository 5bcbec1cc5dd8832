// Runs random actions on a real chain, including reorganizations. After each step, the library, the
// service, and an oracle must return the same status. The oracle is a second implementation of the
// rules (testing/chain/oracle.ts). The contract must allow an execution or a recovery exactly if
// the status permits it. TESTS=long runs ten histories instead of four. HISTORIES sets the number
// of histories, and SEED selects other histories. A failure message contains the seed.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { type AddressRecord, encodeExecution, type Hex, toHex } from "executable-address";
import { type AddressState, type AddressStatus, readStatus } from "executable-address/status";
import { factoryAddress } from "executable-address-contracts";
import { parseAbiItem, zeroAddress } from "viem";
import { randomFrom } from "../../../address/test/random.ts";
import { isLong } from "../../../scripts/long.ts";
import { expectedStatus } from "../../testing/chain/oracle.ts";
import { recoverData, startWorld, type World } from "../../testing/chain/world.ts";
import { openChainRpc } from "../rpc/chain-rpc.ts";
import { openStatusReader } from "./reader.ts";

const histories = Number(process.env.HISTORIES ?? (isLong ? 10 : 4));
const firstSeed = Number(process.env.SEED ?? 1);
const steps = 24;

/** Each history has its own anvil, because anvil loses state when a long chain is reorganized. */
let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.stop());

type Dice = { below(n: number): number; pick<T>(items: readonly T[]): T };

/** All actions on an address and its chain. If the contract refuses an action, nothing happens. */
const happenings: Record<string, (record: AddressRecord, dice: Dice) => Promise<unknown>> = {
  pay: ({ address }, dice) => world.pay(address, BigInt(dice.pick([1, 40, 99, 100, 101, 250]))),
  payAgain: ({ address }, dice) => world.pay(address, BigInt(1 + dice.below(150))),
  payNative: ({ address }) => world.payNative(address, 9n),
  execute: (record) => world.execute(record),
  executeAgain: (record) => world.execute(record),
  recover: (record) => world.recover(record, [world.token]),
  recoverAll: (record) => world.recover(record, [zeroAddress, world.token]),
  recoverNothing: (record) => world.recover(record, []),
  mine: (_, dice) => world.mine(1 + dice.below(80)),
  approachExpiry: async ({ intent }, dice) => {
    const { timestamp } = await world.client.getBlock();
    const target = intent.expirationTimestamp + dice.pick([-1, 0, 1]);
    if (BigInt(target) > timestamp) await world.mineAt(target);
  },
  reorganize: (_, dice) => world.reorg(1 + dice.below(4)),
  rollBack: (_, dice) =>
    world.client.request({
      method: "anvil_rollback" as never,
      params: [1 + dice.below(3)] as never,
    }),
};

/**
 * Returns the total amount of the token that the address received, computed from the token's
 * events.
 */
async function received(record: AddressRecord, toBlock: bigint): Promise<bigint> {
  const logs = await world.client.getLogs({
    address: world.token,
    event: parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 value)"),
    args: { to: record.address },
    fromBlock: 0n,
    toBlock,
  });
  return logs.reduce((sum, log) => sum + log.args.value!, 0n);
}

const works = (data: Hex, blockNumber: bigint) =>
  world.client.call({ to: factoryAddress, data, blockNumber }).then(
    () => true,
    () => false,
  );

/**
 * Compares the status with simulated calls to the contract, and with the token's Transfer events.
 */
async function assertTrue(record: AddressRecord, status: AddressStatus) {
  const blockNumber = BigInt(status.block.number);
  const canExecute = await works(toHex(encodeExecution(record.intent)), blockNumber);
  assert.equal(canExecute, status.state === "funded", "executes exactly when funded");
  const canRecover = await works(recoverData(record, [world.token]), blockNumber);
  const isOver = ["executed", "expired", "recovered"].includes(status.state);
  assert.equal(canRecover, isOver, "recovers exactly when executed, expired or recovered");
  const spent = BigInt(status.execution?.held ?? 0) - BigInt(status.execution?.left ?? 0);
  const returned = status.recoveries
    .filter(({ token }) => token === world.token)
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const total = BigInt(status.balance) + spent + returned;
  assert.equal(
    await received(record, blockNumber),
    total,
    "every unit is there, spent or returned",
  );
}

describe("the status after random actions", () => {
  const reached = new Map<AddressState, number>();

  for (let seed = firstSeed; seed < firstSeed + histories; seed++) {
    test(`is the same from the service, the library, and the contract (seed ${seed})`, async () => {
      const { below } = randomFrom(seed);
      const dice: Dice = { below, pick: (items) => items[below(items.length)]! };
      const records = [await world.newRecord(), await world.newRecord({ amount: "40" })];
      // Each step replaces at most four blocks. So these new blocks protect the contracts, which
      // were deployed earlier, from every reorganization.
      await world.mine(4 * steps);
      let clock = 0;
      const rpc = openChainRpc([world.rpcUrl], () => (clock += 1_000));
      const reader = openStatusReader({ ...world.chain, rpc });
      const previous = new Map<AddressRecord, AddressStatus>();
      for (let step = 0; step < steps; step++) {
        const record = dice.pick(records);
        const what = dice.pick(Object.keys(happenings));
        await happenings[what]!(record, dice).catch(refusedByContract);
        for (const each of records) {
          const message = `step ${step} (${what})`;
          const ours = await reader.read(each);
          const known = previous.get(each);
          const options = { rpc: world.rpcUrl, ...(known && below(2) ? { previous: known } : {}) };
          assert.deepEqual(await readStatus(each, options), ours, message);
          assert.deepEqual(ours, await expectedStatus(world, each, ours.block), message);
          await assertTrue(each, ours);
          if (below(3) === 0) previous.set(each, ours);
          reached.set(ours.state, (reached.get(ours.state) ?? 0) + 1);
        }
      }
    });
  }

  test("covers each of the six states at least once", { skip: histories < 10 }, () => {
    assert.equal(reached.size, 6, JSON.stringify([...reached]));
  });
});

function refusedByContract(error: Error) {
  if (!/revert/.test(error.message)) throw error;
}
