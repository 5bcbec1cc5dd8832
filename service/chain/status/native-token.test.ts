import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { readStatus } from "executable-address/status";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { openChainRpc } from "../rpc/chain-rpc.ts";
import { openStatusReader } from "./reader.ts";

/** Bytecode of a token like Celo's: its balances are the native balances. */
const coin: Hex = "0x600435315f5260205ff3";
/**
 * Bytecode of a token like Arc's, with 6 decimals instead of 18. The token divides the native
 * balances by 10^12.
 */
const coarseCoin: Hex = "0x64e8d4a5100060043531045f5260205ff3";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.stop());

/** Makes an expired record that requests `token`, and sends `wei` of native coin to its address. */
async function expiredWith(token: Hex, wei: bigint) {
  const { factory, intent } = await world.newRecord();
  const expirationTimestamp = Number((await world.client.getBlock()).timestamp) - 1;
  const record = makeRecord({ ...intent, token, expirationTimestamp }, { factory });
  await world.client.setBalance({ address: record.address, value: wei });
  await world.mine(1);
  return record;
}

async function bothReadings(record: Awaited<ReturnType<typeof expiredWith>>) {
  const rpc = openChainRpc([world.rpcUrl]);
  const { chainId } = record.intent;
  const ours = openStatusReader({ chainId, factory: record.factory, rpc, tokens: [] }).read(record);
  const theirs = readStatus(record, { rpc: world.rpcUrl });
  assert.deepEqual(await ours, await theirs);
  return (await ours).recoverable;
}

describe("the recoverable amounts of an expired address", () => {
  for (const [decimals, code, amount] of [
    ["18", coin, "5000000000000"],
    ["6", coarseCoin, "5"],
  ] as const) {
    test(`list the native coin once if it is also a token with ${decimals} decimals`, async () => {
      const token: Hex = `0x${"c0".repeat(19)}${code.length.toString(16)}`;
      await world.client.setCode({ address: token, bytecode: code });
      const record = await expiredWith(token, 5n * 10n ** 12n);
      const found = await bothReadings(record);
      assert.deepEqual(found, [{ token: record.intent.token, amount }]);
    });
  }

  test("list both the native coin and the token if they are different assets", async () => {
    const record = await expiredWith(world.token, 7n);
    await world.pay(record.address, 130n);
    const found = await bothReadings(record);
    assert.deepEqual(
      found.map(({ amount }) => amount),
      ["130", "7"],
    );
  });
});
