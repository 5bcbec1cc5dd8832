// Tests the search for open records, on both databases.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { fromHex, makeRecord } from "executable-address";
import { sample } from "../../address/test/samples.ts";
import { openEmptyStore } from "../testing/empty-store.ts";
import { markWatches } from "./mark.ts";
import { newOpenSearch, searchOpenRecords } from "./open-records.ts";

const chainId = 1;
const [early, late] = [2_000_000_000, 2_000_000_500];

for (const dialect of ["sqlite", "postgres"] as const) {
  const { store, stop } = await openEmptyStore(dialect);
  after(stop);
  let salts = 0;
  const create = async (expirationTimestamp: number, of = chainId) => {
    const salt = `0x${String(++salts).padStart(64, "0")}` as const;
    const made = makeRecord({ ...sample, chainId: of, expirationTimestamp, salt });
    const [address, terms] = [fromHex(made.address), fromHex(made.terms)];
    await store.saveRecord({ address, terms, accountId: "acc_1", createdAtMs: 1 });
    return made.address;
  };
  const search = (expiredSeconds: number, last = newOpenSearch) =>
    searchOpenRecords(store.db, chainId, last, expiredSeconds);

  describe(`searchOpenRecords on ${dialect}`, () => {
    test("reports that all records are closed if the chain has no records", async () => {
      const expiredSeconds = early;
      assert.deepEqual(await search(early), { closedUpTo: 0, expiredSeconds, areAllClosed: true });
    });

    test("stops before the first open record of the chain", async () => {
      await create(early);
      await create(late, 10);
      const open = await create(late);
      await create(early);
      const found = await search(early);
      assert.deepEqual(found, { closedUpTo: 2, expiredSeconds: early, areAllClosed: false });
      await store.db
        .transaction()
        .execute((transaction) => markWatches(transaction, chainId, [open], 1));
      assert.deepEqual(await search(early, found), found);
      await store.db.updateTable("watches").set({ settled_at: 1 }).execute();
      const ended = await search(early, found);
      assert.deepEqual(ended, { closedUpTo: 4, expiredSeconds: early, areAllClosed: true });
    });

    test("begins again at the first record if the time is earlier than before", async () => {
      const last = await search(late);
      assert.deepEqual(last, { closedUpTo: 4, expiredSeconds: late, areAllClosed: true });
      const found = await search(early - 1, last);
      assert.deepEqual([found.closedUpTo, found.areAllClosed], [0, false]);
    });
  });
}
