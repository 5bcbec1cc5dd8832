import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Catalogue, en, languages, pickLanguage, sayWith } from "./languages.ts";
import { saySpan } from "./say-when.ts";

const shared = join(import.meta.dirname, "../../../address/element/words");
const read = (folder: string, tag: string) =>
  JSON.parse(readFileSync(join(folder, `${tag}.json`), "utf8"));
const wordsOf = (tag: string): Catalogue => ({
  ...read(shared, tag),
  ...read(import.meta.dirname, tag),
});
const placesOf = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

describe("the catalogues", () => {
  for (const { tag } of languages) {
    test(`${tag} has every sentence, each with the same places and none of them empty`, () => {
      const words = wordsOf(tag);
      assert.deepEqual(Object.keys(words), Object.keys(en));
      for (const [key, text] of Object.entries(en)) {
        const said = words[key as keyof typeof en];
        assert.ok(said.trim() !== "", key);
        assert.deepEqual(placesOf(said), placesOf(text), key);
      }
    });
  }

  test("no sentence is left in English", () => {
    for (const { tag } of languages.slice(1)) {
      const words = wordsOf(tag);
      const long = Object.entries(en).filter(([, text]) => text.length > 40);
      const same = long.filter(([key, text]) => words[key as keyof typeof en] === text);
      assert.deepEqual(same, [], tag);
    }
  });
});

describe("the language of a payer", () => {
  test("is what was chosen, else what the browser asks for, else English", () => {
    assert.equal(pickLanguage("ar", ["de-AT", "en"]).tag, "ar");
    assert.equal(pickLanguage(null, ["de-AT", "en"]).tag, "de");
    assert.equal(pickLanguage("xx", ["pt", "zh-Hans-CN"]).tag, "zh");
    assert.equal(pickLanguage("xx", ["zh-TW", "de"]).tag, "en", "traditional characters");
    assert.equal(pickLanguage(undefined, ["pt"]).tag, "en");
    assert.equal(pickLanguage(undefined, []).tag, "en");
  });

  test("from right to left, what is put into a sentence keeps its own direction", () => {
    const arabic = languages.find(({ tag }) => tag === "ar")!;
    const said = sayWith(wordsOf("ar"), arabic)("onChain", { chain: "Base" });
    assert.match(said, /\u2068Base\u2069$/);
    assert.equal(sayWith(en)("onChain", { chain: "Base" }), "on Base");
  });

  test("a span is its two largest units, with seconds only when there are few", () => {
    const span = (seconds: number) => saySpan(seconds, sayWith(en));
    assert.equal(span(3 * 86_400 + 4 * 3600 + 59), "3 d 4 h");
    assert.equal(span(2 * 3600 + 14 * 60), "2 h 14 min");
    assert.equal(span(3659), "1 h");
    assert.equal(span(599), "9 min 59 s");
    assert.equal(span(40), "40 s");
    assert.equal(span(0), "0 s");
  });
});
