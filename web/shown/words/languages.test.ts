import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { languages, pickLanguage, sayWith } from "../../ui/words/languages.ts";
import { type Catalogue, en } from "./languages.ts";
import { saySpan } from "./say-when.ts";

type Words = Readonly<Record<string, string>>;

const folders = {
  "the element": join(import.meta.dirname, "../../../element/words"),
  "the parts": join(import.meta.dirname, "../../ui/words"),
  "the page": import.meta.dirname,
  "the returns": join(import.meta.dirname, "../../pay/words"),
  "the receipt": join(import.meta.dirname, "../../pay/receipt/words"),
};
const read = (folder: string, tag: string): Words =>
  JSON.parse(readFileSync(join(folder, `${tag}.json`), "utf8"));
const ofPage = ["the element", "the parts", "the page"] as const;
const wordsOf = (tag: string): Catalogue =>
  Object.assign({}, ...ofPage.map((name) => read(folders[name], tag)));
/** Returns the placeholders in all forms of a text. */
const placesOf = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();

for (const [name, folder] of Object.entries(folders)) {
  describe(`the texts of ${name}`, () => {
    const english = read(folder, "en");
    for (const { tag } of languages) {
      test(`${tag} has the same texts and placeholders as English`, () => {
        const words = read(folder, tag);
        assert.deepEqual(Object.keys(words), Object.keys(english));
        for (const [key, text] of Object.entries(english)) {
          assert.ok(words[key]!.trim() !== "", key);
          assert.deepEqual(placesOf(words[key]!), placesOf(text), key);
        }
      });
    }

    test(`the French texts use French typography`, () => {
      const wrong = Object.entries(read(folder, "fr")).filter(([, text]) =>
        /« | »| [:;!?]|[a-z]'/i.test(text),
      );
      assert.deepEqual(wrong, []);
    });

    test(`every long text is translated`, () => {
      for (const { tag } of languages.slice(1)) {
        const words = read(folder, tag);
        const long = Object.entries(english).filter(([, text]) => text.length > 40);
        const same = long.filter(([key, text]) => words[key] === text);
        assert.deepEqual(same, [], tag);
      }
    });
  });
}

describe("the language of a payer", () => {
  test("pickLanguage prefers the chosen language, then the browser's", () => {
    assert.equal(pickLanguage("ar", ["de-AT", "en"]).tag, "ar");
    assert.equal(pickLanguage(null, ["de-AT", "en"]).tag, "de");
    assert.equal(pickLanguage("xx", ["pt", "zh-Hans-CN"]).tag, "zh");
    assert.equal(pickLanguage("xx", ["zh-TW", "de"]).tag, "en", "traditional characters");
    assert.equal(pickLanguage(undefined, ["pt"]).tag, "en");
    assert.equal(pickLanguage(undefined, []).tag, "en");
  });

  test("a value keeps its direction in right-to-left text", () => {
    const arabic = languages.find(({ tag }) => tag === "ar")!;
    const said = sayWith(wordsOf("ar"), arabic)("onChain", { chain: "Base" });
    assert.match(said, /\u2068Base\u2069$/);
    assert.equal(sayWith(en)("onChain", { chain: "Base" }), "on Base");
  });

  test("a duration is shown in its two largest units", () => {
    const span = (seconds: number) => saySpan(seconds, sayWith(en));
    assert.equal(span(3 * 86_400 + 4 * 3600 + 59), "3 d 4 h");
    assert.equal(span(2 * 3600 + 14 * 60), "2 h 14 min");
    assert.equal(span(3659), "1 h");
    assert.equal(span(599), "9 min 59 s");
    assert.equal(span(40), "40 s");
    assert.equal(span(0), "0 s");
  });
});
