import { describe, test } from "node:test";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../../testing/executor/executor.ts";

const tenMinutes = 600;

const chains = [];
for (const skew of [-tenMinutes, tenMinutes]) {
  const startSeconds = Math.floor(Date.now() / 1000) + skew;
  chains.push({ skew, ...(await prepare({ startSeconds, tickMs: 150 })) });
}

for (const { skew, world, store } of chains) {
  describe(`a chain whose clock differs from the server's clock by ${skew} s`, () => {
    test("expires intents according to its own clock", async (context) => {
      const open = await world.newRecord({ secondsLeft: 120 });
      const closed = await world.newRecord({ secondsLeft: 2 });
      await saveRecords(store, [open, closed]);
      const running = startCore(store, world.chains());
      context.after(running.stop);
      await world.pay([{ to: open.address, amount: open.intent.amount }]);
      await until(
        "the open addresses are executed",
        async () => (await fatesOf(world, [open]))[0]?.executed === 1,
      );
      await world.client.increaseTime({ seconds: 5 });
      await world.pay([{ to: closed.address, amount: closed.intent.amount }]);
      await until("the money of closed addresses is returned", async () => {
        const [fate] = await fatesOf(world, [closed]);
        return fate?.executed === 0 && fate.recovered > 0n;
      });
      await running.stop();
    });
  });
}
