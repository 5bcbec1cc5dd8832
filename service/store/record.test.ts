import assert from "node:assert/strict";
import { test } from "node:test";
import { factoryAddress as factory, fromHex, keccak256, makeRecord } from "executable-address";
import fc from "fast-check";
import { intents } from "../../address/test/intents.ts";
import { recordJson, storedRecordJson } from "./record.ts";

test("`recordJson` and `storedRecordJson` return the same JSON text as the library", () => {
  fc.assert(
    fc.property(intents, ({ intent }) => {
      const record = makeRecord(intent);
      const [address, terms] = [fromHex(record.address), fromHex(record.terms)];
      const parts = { factory, keccak: keccak256 };
      const text = JSON.stringify(record);
      assert.equal(recordJson(address, terms, record.intent, parts), text);
      assert.equal(storedRecordJson(address, terms, parts), text);
    }),
  );
});
