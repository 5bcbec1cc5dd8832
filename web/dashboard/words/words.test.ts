import assert from "node:assert/strict";
import { test } from "node:test";
import { sayWith } from "../../ui/words/languages.ts";
import { en, sayMany } from "./words.ts";

test('every plural text has the forms "one" and "other"', () => {
  const forms = Object.values(en).filter((text) => text.includes(" | "));
  assert.ok(forms.length > 0);
  for (const text of forms) assert.match(text, /^one: [^|]+ \| other: [^|]+$/);
});

test("sayMany chooses the plural form", () => {
  const said = (n: number) => sayMany(sayWith(en), "callsRun", n);
  assert.deepEqual([1, 2, 1234].map(said), ["1 call", "2 calls", "1\u202f234 calls"]);
});
