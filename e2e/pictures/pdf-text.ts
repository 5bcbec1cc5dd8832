// Extracts the text of a PDF that Chromium wrote, using each font's ToUnicode map. Supports only
// left-to-right text.

import { inflateSync } from "node:zlib";
import type { Page } from "playwright-core";

/** Returns the printed text without white space and with ligatures split into letters. */
export const readPrint = async (page: Page): Promise<string[]> =>
  readPdf(await page.pdf())
    .map(squeeze)
    .filter(Boolean);

export const squeeze = (text: string): string => text.normalize("NFKC").replaceAll(/\s/g, "");

type Numbered = { readonly head: string; readonly body: string };

/** Returns the pieces of text on all pages, in the order in which they are drawn. */
function readPdf(pdf: Buffer): string[] {
  const objects = readObjects(pdf);
  const maps = new Map<string, Map<string, string>>();
  for (const { head } of objects.values()) {
    for (const [, name, font] of head.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
      const unicode = /\/ToUnicode (\d+) 0 R/.exec(objects.get(font!)?.head ?? "");
      if (unicode) maps.set(name!, readMap(objects.get(unicode[1]!)!.body));
    }
  }
  return [...objects.values()]
    .filter(({ head }) => /\/Type \/Page\s/.test(head))
    .map(({ head }) => objects.get(/\/Contents (\d+) 0 R/.exec(head)![1]!)!.body)
    .flatMap((content) => runsOf(content, maps));
}

function readObjects(pdf: Buffer): Map<string, Numbered> {
  const text = pdf.toString("latin1");
  const found = new Map<string, Numbered>();
  for (const { index, 0: start, 1: number } of text.matchAll(/(\d+) 0 obj\n?/g)) {
    const from = index + start.length;
    const end = text.indexOf("endobj", from);
    const stream = text.indexOf("stream\n", from);
    const isStream = stream >= 0 && stream < end;
    const head = text.slice(from, isStream ? stream : end);
    const length = Number(/\/Length (\d+)/.exec(head)?.[1]);
    const bytes = isStream && pdf.subarray(stream + 7, stream + 7 + length);
    const isText = bytes && head.includes("/FlateDecode") && !/\/Length1|\/Image/.test(head);
    found.set(number!, { head, body: isText ? inflateSync(bytes).toString("latin1") : "" });
  }
  return found;
}

function readMap(body: string): Map<string, string> {
  const found = new Map<string, string>();
  const char = (hex: string) =>
    String.fromCharCode(...(hex.match(/..../g) ?? []).map((unit) => Number.parseInt(unit, 16)));
  for (const [, block] of body.matchAll(/beginbfchar\n([\s\S]*?)endbfchar/g)) {
    for (const [, glyph, to] of block!.matchAll(/<(\w+)> <(\w+)>/g)) found.set(glyph!, char(to!));
  }
  for (const [, block] of body.matchAll(/beginbfrange\n([\s\S]*?)endbfrange/g)) {
    for (const [, first, last, to] of block!.matchAll(/<(\w+)> <(\w+)> <(\w+)>/g)) {
      const [low, high, start] = [first!, last!, to!].map((hex) => Number.parseInt(hex, 16));
      for (let glyph = low!; glyph <= high!; glyph++) {
        const hex = glyph.toString(16).toUpperCase().padStart(4, "0");
        found.set(hex, String.fromCharCode(start! + glyph - low!));
      }
    }
  }
  return found;
}

function runsOf(content: string, maps: ReadonlyMap<string, ReadonlyMap<string, string>>): string[] {
  return [...content.matchAll(/BT\n([\s\S]*?)\nET/g)].map(([, run]) => {
    const map = maps.get(/\/(F\d+) /.exec(run!)?.[1] ?? "");
    const glyphs = [...run!.matchAll(/<(\w+)> Tj/g)].flatMap(
      ([, hex]) => hex!.match(/..../g) ?? [],
    );
    return glyphs.map((glyph) => map?.get(glyph) ?? "�").join("");
  });
}
