import assert from "node:assert/strict";
import { test } from "node:test";
import { factoryAddress as factory, fromHex, keccak256, makeRecord } from "executable-address";
import fc from "fast-check";
import { intents } from "../../address/test/intents.ts";
import { recordJson } from "./record.ts";

test("`storedRecordJson` returns the same JSON text as the library", () => {
  fc.assert(
    fc.property(intents, ({ intent }) => {
      const record = makeRecord(intent);
      const [address, terms] = [fromHex(record.address), fromHex(record.terms)];
      const body = recordJson(address, terms, record.intent, { factory, keccak: keccak256 });
      assert.equal(body, JSON.stringify(record));
    }),
  );
});
