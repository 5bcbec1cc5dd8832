// Tests open addresses whose token the operator has delisted or listed as a look-alike. These
// addresses are still executed and recovered.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Hex } from "executable-address";
import type { ServiceStatus } from "executable-address/status";
import { chainsOf, startApp } from "../../testing/app.ts";
import { saveRecords, shop, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../testing/executor/executor.ts";

const { world, store } = await prepare({ tickMs: 150 });
const [asked, other] = world.chains()[0]!.tokens;
const lookalike = {
  ...{ symbol: "OLD", name: "Former token", address: asked!.address, decimals: 6 },
  ...{ looksLike: other!.symbol, recoverMin: "1000000000000" },
};
const tokens = [{ symbol: other!.symbol, address: other!.address, decimals: other!.decimals }];

for (const [name, lookalikes] of [
  ["moved to the list of look-alikes", [lookalike]],
  ["removed from the chains file", []],
] as const) {
  describe(`an open address whose token was ${name}`, async () => {
    const chains = world.chains([world.rpcUrl], { tokens, lookalikes });
    const api = await startApp({
      store,
      chains: chainsOf(chains),
    });
    after(() => api.app.close());
    const statusOf = async (address: Hex): Promise<ServiceStatus> =>
      (await api.app.inject(`/v1/address/${address}/status`)).json();
    const kept = (address: Hex) =>
      store.db
        .selectFrom("payments")
        .select(["amount", "is_lookalike"])
        .where("address", "=", Buffer.from(address.slice(2), "hex"))
        .orderBy("block_number")
        .execute();
    const openRecord = async (secondsLeft?: number) => {
      const record = await world.newRecord(secondsLeft === undefined ? {} : { secondsLeft });
      await saveRecords(store, [record]);
      return record;
    };

    test("is executed after a payment in two parts", async () => {
      const { address, intent } = await openRecord();
      const stranger = await world.newRecord();
      const { stop } = startCore(store, chains);
      try {
        const before = await world.balanceOf(shop);
        await world.pay([{ to: address, amount: 1n }]);
        await until("the first part is detected", async () => (await kept(address)).length === 1);
        const { state, balance, wrongTokens } = await statusOf(address);
        assert.deepEqual([state, balance, wrongTokens], ["partially_funded", "1", []]);
        await world.pay([{ to: address, amount: BigInt(intent.amount) - 1n }]);
        await until("it is executed", async () => (await statusOf(address)).state === "executed");
        assert.ok((await world.balanceOf(shop)) > before);
        assert.deepEqual(await kept(address), [
          { amount: "1", is_lookalike: 0 },
          { amount: `${BigInt(intent.amount) - 1n}`, is_lookalike: 0 },
        ]);
        assert.equal((await kept(stranger.address)).length, 0);
      } finally {
        await stop();
      }
    });

    test("returns its money after the expiration time", async () => {
      const { address, intent } = await openRecord(20);
      const { stop } = startCore(store, chains);
      try {
        await world.pay([{ to: address, amount: 7n }]);
        await until("it is found", async () => (await kept(address)).length === 1);
        await world.client.increaseTime({ seconds: 30 });
        await until(
          "the money is returned",
          async () => (await world.balanceOf(intent.recovery)) === 7n,
        );
      } finally {
        await stop();
      }
    });
  });
}
