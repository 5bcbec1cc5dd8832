// Every way of verifying, here and in the other thread, is one to whoever asks.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  deriveAddress,
  encodeTerms,
  factoryAddress as factory,
  makeRecord,
} from "executable-address";
import { newWasmKeccak } from "executable-address/keccak-wasm";
import { pino } from "pino";
import { intentOf } from "../../bench/intents.ts";
import { openSqlite } from "../../store/sqlite.ts";
import { CorruptError, type Store } from "../../store/store.ts";
import { startVerifier, type Verifier } from "./verifier.ts";

/** More than both threads take at a time. */
const crowd = 300;
const directory = mkdtempSync(join(tmpdir(), "verifier-"));
let store: Store;
const rows = Array.from({ length: crowd }, (_, number) => {
  const intent = intentOf(number, 1_900_000_000);
  const terms = encodeTerms(intent);
  const address = Buffer.from(deriveAddress(terms));
  return { address, terms, text: JSON.stringify(makeRecord(intent)) };
});
const texts = rows.map(({ text }) => text);

before(async () => {
  store = await openSqlite(join(directory, "service.db"));
  const accountId = "acc_1";
  const saves = rows.map((row) => store.saveRecord({ ...row, accountId, createdAtMs: 1 }));
  await Promise.all(saves);
});
after(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const start = (store: Store) =>
  startVerifier({ factory, keccak: newWasmKeccak(), log: pino({ level: "silent" }), store });

/** Asks for the first `count` rows at once. */
const ask = (verifier: Verifier, count = crowd) =>
  rows.slice(0, count).map(({ address }) => verifier.textOf(address));

const ways = {
  "where the other thread reads for itself": () => store,
  "where only this thread has the store": (): Store => {
    const { file, ...others } = store;
    return others;
  },
};

for (const [way, storeOf] of Object.entries(ways)) {
  describe(way, () => {
    let verifier: Verifier;
    before(() => {
      verifier = start(storeOf());
    });
    after(() => verifier.close());

    for (const count of [1, 50, crowd]) {
      test(`of ${count} at once, nothing for one that is not held`, async () => {
        const absent = verifier.textOf(Buffer.alloc(20, 1));
        assert.deepEqual(await Promise.all(ask(verifier, count)), texts.slice(0, count));
        assert.equal(await absent, undefined);
      });

      test(`of ${count} at once, CorruptError for one that derives another address`, async () => {
        const bad = Math.floor(count / 2);
        const { address, terms } = rows[bad]!;
        const hold = (terms: Uint8Array) =>
          store.db.updateTable("records").set({ terms }).where("address", "=", address).execute();
        await hold(encodeTerms(intentOf(crowd, 1_900_000_000)));
        const outcomes = await Promise.allSettled(ask(verifier, count));
        await hold(terms);
        const [refused] = outcomes.splice(bad, 1);
        assert.ok(refused?.status === "rejected" && refused.reason instanceof CorruptError);
        assert.match(refused.reason.message, new RegExp(address.toString("hex")));
        assert.match((refused.reason.cause as Error).message, /its terms derive/);
        assert.deepEqual(
          outcomes,
          texts
            .slice(0, count)
            .toSpliced(bad, 1)
            .map((value) => ({ status: "fulfilled", value })),
        );
      });
    }
  });
}

test("what the other thread held when it ended is answered, and what comes after", async () => {
  const ending = start(store);
  const before = ask(ending);
  await ending.close();
  assert.deepEqual(await Promise.all([...before, ...ask(ending)]), [...texts, ...texts]);
});

test("where the other thread cannot read, this one does", async () => {
  const file = join(directory, "no-database");
  writeFileSync(file, "this is text and no database");
  const alone = start({ ...store, file });
  assert.deepEqual(await Promise.all(ask(alone)), texts);
  assert.deepEqual(await Promise.all(ask(alone)), texts);
  await alone.close();
});
