// Tests that each payment is saved once, despite restarts and reorganizations.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type AddressRecord, fromHex, toHex } from "executable-address";
import { openStore } from "../../roles/open-store.ts";
import { saveRecords, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../testing/executor/executor.ts";
import { startPostgres } from "../../testing/postgres.ts";

const { world, store: sqlite } = await prepare();
const postgres = await startPostgres();
after(postgres.stop);

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the executor with ${dialect}`, async () => {
    const isSqlite = dialect === "sqlite";
    const store = isSqlite
      ? sqlite
      : await openStore({ dataDirectory: "", databaseUrl: postgres.url });
    if (!isSqlite) after(() => store.close());
    const start = () => startCore(store, world.chains());
    const kept = async ({ address }: AddressRecord) => {
      const rows = await store.db
        .selectFrom("payments")
        .selectAll()
        .where("address", "=", fromHex(address))
        .orderBy("block_number")
        .orderBy("log_index")
        .execute();
      return rows.map(({ amount, token }) => [amount, toHex(token)]);
    };
    const sweptUpTo = async (number: number) => {
      const row = await store.db
        .selectFrom("anchors")
        .select((select) => select.fn.max("number").as("number"))
        .executeTakeFirst();
      return Number(row?.number ?? 0) >= number;
    };
    const swept = async () => {
      const head = Number(await world.client.getBlockNumber());
      await until("the head is swept", () => sweptUpTo(head));
    };
    const [token, otherToken] = [world.token, world.otherToken].map((each) => each.toLowerCase());

    test("saves each payment once, even after a restart", async () => {
      const [record, stranger] = [await world.newRecord(), await world.newRecord()];
      await saveRecords(store, [record]);
      const first = start();
      await world.pay([
        { to: record.address, amount: 3n },
        { to: stranger.address, amount: 9n },
        { to: record.address, amount: 5n },
        { to: record.address, amount: 7n, token: world.otherToken },
      ]);
      await world.mine();
      await swept();
      await first.stop();
      const all = [
        ["3", token],
        ["5", token],
        ["7", otherToken],
      ];
      assert.deepEqual(await kept(record), all);
      assert.deepEqual(await kept(stranger), []);
      const second = start();
      await world.mine(2);
      await swept();
      await second.stop();
      assert.deepEqual(await kept(record), all);
    });

    test("replaces the saved payment if a reorganization replaces its block", async () => {
      const record = await world.newRecord();
      await saveRecords(store, [record]);
      const running = start();
      await world.mine(2);
      await swept();
      await world.pay([{ to: record.address, amount: 11n }]);
      await world.mine();
      await swept();
      assert.deepEqual(await kept(record), [["11", token]]);
      await world.ask([{ method: "anvil_rollback", params: [1] }]);
      await world.pay([{ to: record.address, amount: 13n }]);
      await world.mine(2);
      await until(
        "the new block's payment is saved",
        async () => (await kept(record))[0]?.[0] === "13",
      );
      assert.deepEqual(await kept(record), [["13", token]]);
      await running.stop();
    });
  });
}
