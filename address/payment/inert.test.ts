import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasHidden, inertPieces } from "./inert.ts";

const shown = (text: string) =>
  inertPieces(text)
    .map((piece) => (piece.hidden ? `[${piece.text}]` : piece.text))
    .join("");

describe("untrusted text", () => {
  const hostile: [string, string, string][] = [
    ["a right-to-left override", "pay \u202e0001", "pay [U+202E]0001"],
    ["isolates and embeddings", "\u2066a\u2069\u202ab", "[U+2066]a[U+2069][U+202A]b"],
    ["a zero-width joiner and space", "a\u200d\u200bb", "a[U+200D][U+200B]b"],
    ["line breaks and tabs", "a\nb\tc\r", "a[U+000A]b[U+0009]c[U+000D]"],
    ["line and paragraph separators", "a\u2028b\u2029", "a[U+2028]b[U+2029]"],
    ["a null, an escape and a delete", "\0\x1b\x7f", "[U+0000][U+001B][U+007F]"],
    ["a no-break space", "1\u00a0000", "1[U+00A0]000"],
    ["a mark without a base character", "\u0301a", "[U+0301]a"],
    ["a third mark on one letter", "e\u0301\u0302\u0303", "e\u0301\u0302[U+0303]"],
    ["a mark after an escaped character", "\u202e\u0301", "[U+202E][U+0301]"],
    ["a variation selector", "a\ufe0f", "a[U+FE0F]"],
    ["a tag character", "a\u{e0041}", "a[U+E0041]"],
    ["a Hangul filler", "\u3164", "[U+3164]"],
    ["a blank Braille cell", "\u2800", "[U+2800]"],
    ["a byte order mark", "\ufeffx", "[U+FEFF]x"],
    ["a private-use character", "\ue000", "[U+E000]"],
  ];
  for (const [name, text, wanted] of hostile) {
    test(`is escaped: ${name}`, () => assert.equal(shown(text), wanted));
  }

  test("spaces, markup, emoji, and letters of any language are unchanged", () => {
    for (const text of [
      "Grüße, 25 €",
      "支払い",
      "भुगतान",
      "e\u0301",
      "דמי",
      "<b>x</b> & 'y'",
      "🚀",
      "a  b",
    ]) {
      assert.equal(shown(text), text);
      assert.equal(hasHidden(text), false);
    }
  });
});
