// Compares the gas check of an intent with the intent's execution. If the check reports no problem,
// the executor must be able to execute the intent. The check must report no problem if the intent
// uses little gas.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AddressRecord,
  type Call,
  encodeExecution,
  type Hex,
  makeRecord,
  toHex,
} from "executable-address";
import type { Finding } from "executable-address/client";
import { factoryAddress } from "executable-address-contracts";
import { getAddress, numberToHex, parseAbi } from "viem";
import { demoTokens, localChainId } from "../../../scripts/local-chain.ts";
import { onlyLong } from "../../../scripts/long.ts";
import { openChecks } from "../../chain/findings/checks.ts";
import { openChainRpc } from "../../chain/rpc/chain-rpc.ts";
import { deployOdd } from "../../testing/chain/odd-contracts.ts";
import { fatesOf, saveRecords, shop, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../testing/executor/executor.ts";

const { world, store } = await prepare({ tickMs: 100 });
const { client, token } = world;

const check = openChecks({
  chainId: localChainId,
  factory: factoryAddress,
  rpc: openChainRpc([world.rpcUrl]),
  tokens: demoTokens,
  confirmations: 0,
  paymentConfirmations: 0,
});

// Mints tokens, because the check rejects amounts above the token's total supply.
await world.pay([{ to: shop, amount: 10n ** 12n }]);

let salts = 0n;

/** Makes a record whose calls pay 1,000 units to the shop and then make `call`. */
async function recordWith(call: Call): Promise<AddressRecord> {
  const { timestamp } = await client.getBlock();
  const pay = { target: token, function: "transfer(address to, uint256 amount)" };
  return makeRecord({
    token,
    amount: "1000",
    calls: [{ ...pay, args: [shop, "1000"] }, call],
    expirationTimestamp: Number(timestamp) + 86_400,
    recovery: getAddress(numberToHex(0x630000n + ++salts, { size: 20 })),
    salt: numberToHex(salts, { size: 32 }),
    chainId: localChainId,
  });
}

/** Saves and pays the records, and runs an executor until each has succeeded or failed. */
async function execute(records: readonly AddressRecord[]): Promise<Map<Hex, boolean>> {
  await saveRecords(store, records);
  const running = startCore(store, world.chains());
  try {
    await world.pay(records.map(({ address }) => ({ to: address, amount: 1000n })));
    const failed = () => {
      const events = running.events.filter((event) => event.kind === "attempt_failed");
      return new Set(events.map(({ address }) => address));
    };
    const executed = async () => (await fatesOf(world, records)).map((fate) => fate.executed === 1);
    await until("each is executed or has failed", async () =>
      (await executed()).every(
        (is, i) => is || failed().has(records[i]!.address.toLowerCase() as Hex),
      ),
    );
    const are = await executed();
    return new Map(records.map(({ address }, index) => [address, are[index]!]));
  } finally {
    await running.stop();
  }
}

const codesOf = (findings: readonly Finding[]) => findings.map(({ code }) => code);

describe("an execution", () => {
  test("succeeds for every intent that a check accepts, regardless of its gas use", async () => {
    const target = await deployOdd(world, "Shop");
    // The function `stock` uses 22,100 gas per item, so the intents below use between 0.2 and 6
    // million gas.
    const few = [5, 120, 140, 160, 175, 190, 265];
    const items = onlyLong.skip ? few : [...few, 20, 50, 90, 150, 155, 165, 170, 180, 200, 230];
    const records = await Promise.all(
      items.map((count) =>
        recordWith({ target, function: "stock(uint256 items)", args: [String(count)] }),
      ),
    );
    const checked = await Promise.all(records.map((record) => check(record)));
    const executed = await execute(records);
    const rows = records.map(({ address }, index) => ({
      items: items[index]!,
      gasUsed: checked[index]!.simulation.gasUsed,
      codes: codesOf(checked[index]!.findings),
      isExecuted: executed.get(address)!,
    }));
    assert.deepEqual(
      rows.filter(({ codes, isExecuted }) => codes.length === 0 && !isExecuted),
      [],
    );
    for (const { items, codes } of rows) {
      if (items <= 140) assert.deepEqual(codes, [], `${items} items`);
      if (items >= 190) assert.deepEqual(codes, ["gas_beyond_ceiling"], `${items} items`);
    }
  });

  test("completes a call despite the finding `work_depends_on_gas`", onlyLong, async () => {
    const done = async (address: Hex) =>
      client.readContract({
        address,
        abi: parseAbi(["function done() view returns (uint256)"]),
        functionName: "done",
      });
    const target = await deployOdd(world, "Tolerant");
    const half = { target, function: "tryWorkWithHalf(uint256 items)", args: ["40"] };
    const record = await recordWith(half);
    const { findings, simulation } = await check(record);
    assert.ok(simulation.gasUsed! > 900_000, `${simulation.gasUsed}`);
    assert.deepEqual(codesOf(findings), ["work_depends_on_gas"]);
    const executed = await execute([record]);
    assert.equal(executed.get(record.address), true);
    assert.equal(await done(target), 40n);
  });

  test("is predicted to fail if a nested call burns all its gas", onlyLong, async () => {
    // Sends all gas to a contract with one INVALID instruction, and ignores the failure.
    const burner = "0x0000000000000000000000000000000000620001" as const;
    const tolerant = "0x0000000000000000000000000000000000620002" as const;
    await client.setCode({ address: burner, bytecode: "0xfe" });
    await client.setCode({
      address: tolerant,
      bytecode: `0x5f5f5f5f5f73${burner.slice(2)}5af100`,
    });
    const record = await recordWith({ target: tolerant, function: "visit()", args: [] });
    const { findings } = await check(record);
    assert.deepEqual(codesOf(findings), ["call_reverts"]);
    assert.match(findings[0]!.message, /less than a quarter of its gas/);
    assert.match(findings[0]!.message, /no limit is high enough/);
    assert.deepEqual(findings[0]!.path, ["calls", 1]);
  });

  test("can contain a call that uses up to about 12 million gas", async () => {
    // A contract that loops until it has used the amount of gas in its first argument.
    const target = "0x0000000000000000000000000000000000620003" as const;
    // In pseudocode: start = GAS; repeat while start - GAS < wanted.
    await client.setCode({ address: target, bytecode: "0x5a5b805a9003600435116001570000" });
    const gas = 16_777_216n;
    const isExecuted = async (used: number) => {
      const { intent, address } = await recordWith({
        target,
        function: "use(uint256 gas)",
        args: [String(used)],
      });
      await world.pay([{ to: address, amount: 1000n }]);
      await world.mine();
      const data = toHex(encodeExecution(intent));
      return client.call({ to: factoryAddress, data, gas }).then(
        () => true,
        () => false,
      );
    };
    let [fits, tooMuch] = [10_000_000, 13_000_000];
    while (tooMuch - fits > 20_000) {
      const middle = Math.floor((fits + tooMuch) / 2);
      if (await isExecuted(middle)) fits = middle;
      else tooMuch = middle;
    }
    assert.ok(fits > 11_700_000 && fits < 12_200_000, `${fits}`);
  });
});
