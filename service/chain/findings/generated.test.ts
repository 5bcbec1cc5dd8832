// Tests that random intents execute after a normal payment if the check finds nothing. The intents
// use ordinary and unusual tokens. CHECKS=1000 runs the full measurement, and another SEED
// generates other intents.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AddressRecord, Call, Hex } from "executable-address";
import { type Abi, encodeFunctionData, parseAbi } from "viem";
import {
  type SimulatedWorld,
  shop,
  startSimulated,
  stranger,
} from "../../testing/chain/simulated.ts";
import { payer, recovery } from "../../testing/chain/world.ts";
import { executionGasMax } from "../gas-limits.ts";
import { openChecks } from "./checks.ts";

const count = Number(process.env.CHECKS ?? 60);
const seed = Number(process.env.SEED ?? 1);
const shareMin = 0.995;

/** Returns a Mulberry32 random number generator. The numbers depend only on the seed. */
function numbersFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

const abi = parseAbi([
  "function transfer(address to, uint256 amount)",
  "function setBlocked(address account, bool blocked)",
]) satisfies Abi;
const oddNames = [
  "SilentToken",
  "FeeToken",
  "FalseToken",
  "BlockingToken",
  "NoZeroApproveToken",
  "BoastingToken",
  "HookToken",
  "HalfToken",
  "SlowToken",
];
const blocked: Hex = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

describe("generated intents", () => {
  const random = numbersFrom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const chance = (share: number) => random() < share;
  const some = (most: bigint) => BigInt(Math.floor(random() * Number(most)));
  let world: SimulatedWorld;
  const tokens: { symbol: string; address: Hex; decimals: number }[] = [];

  const send = async (to: Hex, data: Hex) => {
    const hash = await world.client.sendTransaction({ to, data, gas: 3_000_000n });
    return (await world.client.waitForTransactionReceipt({ hash })).status === "success";
  };

  before(async () => {
    world = await startSimulated();
    const addresses = Array.from({ length: 6 }, () => world.token);
    for (const name of oddNames) addresses.push(await world.deployOdd(name));
    for (const address of addresses) {
      tokens.push({ symbol: "DMO", address, decimals: 6 });
      await world.pay(payer, 10n ** 18n, address);
    }
    const args = [blocked, true] as const;
    await send(addresses[9]!, encodeFunctionData({ abi, functionName: "setBlocked", args }));
  });
  after(() => world?.stop());

  const onShop = (text: string, ...args: string[]): Call => world.onShop(text, ...args);

  /**
   * Returns random calls. In most cases, the calls spend exactly `amount`. Sometimes they spend one
   * unit more or less.
   */
  function callsFor(token: Hex, amount: bigint): Call[] {
    const spent = chance(0.9) ? amount : amount + some(3n) - 1n;
    const first = chance(0.5) ? spent : some(spent);
    const calls: Call[] = [];
    if (chance(0.5)) {
      const approved = chance(0.9) ? first : first + some(100n);
      const function_ = "approve(address spender, uint256 amount)";
      calls.push({ target: token, function: function_, args: [world.target, String(approved)] });
      calls.push(onShop("pay(address token, uint256 amount)", token, String(first)));
    } else {
      calls.push(transferOf(token, first));
    }
    if (first < spent) calls.push(transferOf(token, spent - first));
    const other = random();
    if (other < 0.2) calls.push(onShop("visit()"));
    else if (other < 0.25) calls.push({ ...onShop("visit()"), target: pick([stranger, blocked]) });
    else if (other < 0.3) calls.push(onShop("fail()"));
    else if (other < 0.4) calls.push(onShop("stock(uint256 items)", String(some(300n))));
    return calls;
  }

  function transferOf(token: Hex, amount: bigint): Call {
    const args = [pick([shop, shop, shop, stranger, blocked]), String(amount)];
    return { target: token, function: "transfer(address to, uint256 amount)", args };
  }

  async function generate(): Promise<AddressRecord> {
    const token = pick(tokens).address;
    const odd = pick([1n + some(2_000n), 2n * 10n ** 18n, 10n ** 14n]);
    const amount = chance(0.9) ? 10_000n + some(10n ** 9n) : odd;
    const { timestamp } = await world.client.getBlock();
    return world.newRecord({
      ...{ token, amount: String(amount), calls: callsFor(token, amount) },
      expirationTimestamp: Number(timestamp) + 10 + Number(some(2_000n)),
      recovery: pick([recovery, recovery, recovery, recovery, blocked, world.target]),
    });
  }

  /** Pays the address and executes its calls. Returns whether both transactions succeed. */
  async function execute(record: AddressRecord): Promise<boolean> {
    const { address, intent } = record;
    const args = [address, BigInt(intent.amount)] as const;
    const data = encodeFunctionData({ abi, functionName: "transfer", args });
    try {
      return (
        (await send(intent.token, data)) &&
        Boolean(await world.execute(record, BigInt(executionGasMax)))
      );
    } catch {
      return false;
    }
  }

  test("execute in at least 99.5 % of the cases if a check reports no finding", async (t) => {
    const chain = { ...world.chain, tokens };
    const check = openChecks({ ...chain, confirmations: 12, paymentConfirmations: 0 });
    const ran = { clean: 0, doubtful: 0 };
    const all = { clean: 0, doubtful: 0 };
    const failed: string[] = [];
    for (let made = 0; made < count; made++) {
      const record = await generate();
      const { findings } = await check(record);
      const kind = findings.length === 0 ? "clean" : "doubtful";
      all[kind] += 1;
      if (await execute(record)) ran[kind] += 1;
      else if (kind === "clean") failed.push(JSON.stringify(record.intent));
    }
    t.diagnostic(
      `without a finding: ${ran.clean} of ${all.clean} executed; ` +
        `with one: ${ran.doubtful} of ${all.doubtful}`,
    );
    assert.ok(all.clean >= count / 5 && all.doubtful >= count / 5, JSON.stringify(all));
    assert.ok(ran.clean >= all.clean * shareMin, failed.join("\n"));
  });
});
