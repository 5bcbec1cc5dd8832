import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { languages, sayWith } from "../../ui/words/languages.ts";
import { sayMany } from "./say-many.ts";
import { en, type Key } from "./words.ts";

const wordsOf = (tag: string): Record<Key, string> =>
  JSON.parse(readFileSync(join(import.meta.dirname, `${tag}.json`), "utf8"));
const forms = Object.entries(en).filter(([, text]) => / \| other: /.test(text));

for (const language of languages) {
  test(`${language.tag} has each form that its numbers take, and no other`, () => {
    const words = wordsOf(language.tag);
    const { pluralCategories } = new Intl.PluralRules(language.tag).resolvedOptions();
    for (const [key] of forms) {
      const names = words[key as Key].split(" | ").map((form) => form.split(": ")[0]);
      assert.deepEqual(names.toSorted(), pluralCategories.toSorted(), key);
    }
  });
}

test("a number takes the form of its language", () => {
  const said = (n: number) => sayMany({ say: sayWith(en), language: languages[0]! }, "callsRun", n);
  assert.deepEqual([1, 2, 1234].map(said), [
    "One call runs",
    "2 calls run",
    "1\u202f234 calls run",
  ]);
  const arabic = languages.find(({ tag }) => tag === "ar")!;
  const say = sayWith(wordsOf("ar"), arabic);
  assert.equal(sayMany({ say, language: arabic }, "callsRun", 2), "يُنفَّذ استدعاءان");
});
