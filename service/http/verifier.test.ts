// Both ways of verifying, here and in the other thread, are one to whoever asks.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  deriveAddress,
  encodeTerms,
  factoryAddress as factory,
  makeRecord,
} from "executable-address";
import { newWasmKeccak } from "executable-address/keccak-wasm";
import { pino } from "pino";
import { intentOf } from "../bench/intents.ts";
import { CorruptError } from "../store/store.ts";
import { startVerifier } from "./verifier.ts";

const parts = { factory, keccak: newWasmKeccak(), log: pino({ level: "silent" }) };
const verifier = startVerifier(parts);
after(() => verifier.close());

function row(number: number) {
  const intent = intentOf(number, 1_900_000_000);
  const terms = encodeTerms(intent);
  const address = Buffer.from(deriveAddress(terms));
  return { address, terms, text: JSON.stringify(makeRecord(intent)) };
}

for (const count of [1, 50]) {
  describe(`of ${count} at once`, () => {
    test("CorruptError, for that row alone, where the terms derive another address", async () => {
      const rows = Array.from({ length: count }, (_, number) => row(number));
      const bad = Math.floor(count / 2);
      rows[bad]!.terms = row(1000).terms;
      const outcomes = await Promise.allSettled(
        rows.map(({ address, terms }) => verifier.textOf(address, terms)),
      );
      outcomes.forEach((outcome, index) => {
        if (index !== bad)
          assert.deepEqual(outcome, { status: "fulfilled", value: rows[index]!.text });
        else {
          assert.ok(outcome.status === "rejected" && outcome.reason instanceof CorruptError);
          assert.match(outcome.reason.message, new RegExp(rows[bad]!.address.toString("hex")));
          assert.match((outcome.reason.cause as Error).message, /its terms derive/);
        }
      });
    });

    test("the texts, as the library makes them, in the order asked for", async () => {
      const rows = Array.from({ length: count }, (_, number) => row(number));
      const texts = rows.map(({ address, terms }) => verifier.textOf(address, terms));
      assert.deepEqual(
        await Promise.all(texts),
        rows.map(({ text }) => text),
      );
    });
  });
}

test("what the other thread held when it ended is verified, and what comes after", async () => {
  const ending = startVerifier(parts);
  const rows = Array.from({ length: 50 }, (_, number) => row(number));
  const texts = rows.map(({ address, terms }) => ending.textOf(address, terms));
  await ending.close();
  texts.push(...rows.map(({ address, terms }) => ending.textOf(address, terms)));
  assert.deepEqual(
    await Promise.all(texts),
    [...rows, ...rows].map(({ text }) => text),
  );
});
