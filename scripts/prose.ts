// Reads the prose of the repository and finds phrases that plain technical English does not use.
//
//     node scripts/run.js scripts/prose.ts PATH…           lists the phrases in files or folders
//     node scripts/run.js scripts/prose.ts --sample SEED   draws 100 sentences of each kind
//
// A sentence of a sample is complete, with its code, and comes with the sentence before it.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { files, isTest, root } from "./tree.ts";

export const kinds = ["docs", "comments", "titles", "messages", "interface"] as const;
export type Kind = (typeof kinds)[number];

export type Passage = {
  readonly path: string;
  readonly line: number;
  readonly kind: Kind;
  readonly text: string;
};

export type Phrase = Passage & { readonly pattern: string; readonly found: string };

const exempt = String.raw`(?<!\b(?:says?|shows?|explains?|see|checks?|knows?|describes?) )`;
const verbs =
  "is|are|was|were|it|they|has|have|had|comes?|came|goes|went|waits?|remains?|follows?|stays?";

/** The name of each pattern says what to write instead. */
const patterns: Readonly<Record<string, RegExp>> = {
  "tell: report, return, log, notify, show": /\b(?:tells?|telling|told)\b/gi,
  "held by a test: is tested":
    /\b(?:is|are|was|were|be|been|being) held (?:by (?:\w+ )?tests?|to)\b/gi,
  "what is X: name the thing": new RegExp(String.raw`${exempt}\bwhat (?:${verbs})\b(?!\?)`, "gi"),
  "those that, whoever: name the thing or role":
    /\b(?:those (?:that|who|of|which|with|whose)|whom?ever|whatever|the ones? (?:that|who|of))\b/gi,
  "of it: its, their, or repeat the noun": /\bof (?:it|them|which|whom)\b/gi,
  "is no X: is not an X": /(?<!\b(?:there|which|that) )\b(?:is|are) no (?!longer|more\b)\w+/gi,
  "is no longer there: is missing": /\b(?:is|are) (?:no longer|not) there\b/gi,
  "so much: the number or its name": /\bso (?:much|many|long|few)\b/gi,
  "once more, anew: again": /\b(?:a second time|once more|anew|afresh)\b/gi,
  "lets go: closes, abandons, ignores, postpones":
    /\b(?:lets? (?:\w+ )?go\b|(?:gives?|gave|given) up on|leaves? (?:\w+ )?alone|puts? off)\b/gi,
  "by itself: automatically": /\bby (?:itself|themselves)\b/gi,
  "stands: is, appears, means": /\b(?:stands?|stood)\b/gi,
  "alone: only": /\balone\b/gi,
  "at once: immediately, simultaneously": /\bat once\b/gi,
  "goes by, bears out, came to: depends on, confirms, totals":
    /\b(?:goes? by|bears? out|borne out|came to)\b|\bever so\b/gi,
};

/** A comment that begins like a question is a fragment, but a heading of a page can be one. */
const patternsOfComments: typeof patterns = {
  ...patterns,
  "What, Who at the beginning: a noun or a verb": /^ ?(?:What|Who|Whom|Whose)\b(?![^.]*\?)/g,
};

/** The code in a template literal, which may contain one more level of braces and templates. */
const inner = String.raw`\x60(?:[^\x60{}]|\{[^{}]*\})*\x60`;
const inTemplate = String.raw`\$\{(?:[^{}\x60]|${inner}|\{[^{}]*\})*\}`;

/** A comment, or a string that may be prose. Regular expressions with quotes are rare enough. */
const template = String.raw`\x60(?:[^\x60\\$]|\\.|\$(?!\{)|${inTemplate})*\x60`;
const tokens = new RegExp(String.raw`//[^\n]*|/\*[\s\S]*?\*/|"(?:[^"\\\n]|\\.)*"|${template}`, "g");

/** SQL, JavaScript, and style sheets in a string. */
const isCode = (text: string) =>
  /=>|;\n|^\s*(?:with|select|insert|update|create|const|:host)\b/.test(text);

/** Not `.describe(`, which describes an input of the API. */
const isTitle = (before: string) =>
  /(?<!\.)\b(?:test|describe|it)\(\s*$|^\s*(?:skip|only)\($/.test(before);
const isSuite = (before: string) => /(?<!\.)\bdescribe\(\s*$/.test(before);
const wordsIn = (text: string) => text.match(/\p{L}[\p{L}’'-]*/gu)?.length ?? 0;
export const countWords = (passages: readonly Passage[]): number =>
  passages.reduce((sum, { text }) => sum + wordsIn(plain(text)), 0);

const templateCode = new RegExp(inTemplate, "g");

/** Code, paths and addresses of the web are not prose. */
const plain = (text: string) =>
  text
    .replace(templateCode, "X")
    .replace(/`[^`\n]*`/g, " X ")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(/https?:\/\/\S+/g, " ");

function* readSource(path: string, source: string): Generator<Passage> {
  const make = (kind: Kind, text: string, at: number): Passage => {
    const line = source.slice(0, at).split("\n").length;
    return { path, line, kind, text };
  };
  let comment: { text: string; at: number; end: number } | undefined;
  /** The enclosing suites, outermost first. `end` is the line that closes a suite. */
  let suites: { title: string; at: number; end: string }[] = [];
  for (const { 0: token, index: at } of source.matchAll(tokens)) {
    if (token.startsWith("//")) {
      const text = token.replace(/^\/+ ?/, "");
      // Adjacent comment lines form one text, because a phrase may be split across lines.
      if (comment && /^\s*$/.test(source.slice(comment.end, at)))
        comment = { ...comment, text: `${comment.text}\n${text}`, end: at + token.length };
      else {
        if (comment) yield make("comments", comment.text, comment.at);
        comment = { text, at, end: at + token.length };
      }
      continue;
    }
    if (token.startsWith("/*")) {
      yield make("comments", token.replace(/^\/\*+|\*\/$/g, "").replace(/^\s*\* ?/gm, ""), at);
      continue;
    }
    const text = token.slice(1, -1);
    const before = source.slice(Math.max(0, at - 40), at);
    // A test runner shows a title below the titles of its suites.
    const lineStart = source.lastIndexOf("\n", at - 1) + 1;
    const indent = source.slice(lineStart, at).search(/\S|$/);
    if (isTitle(before))
      suites = suites.filter((suite) => !source.slice(suite.at, at).includes(suite.end));
    if (isSuite(before)) {
      suites.push({ title: text, at, end: `\n${" ".repeat(indent)}});\n` });
      continue;
    }
    const prose = plain(text);
    if (wordsIn(prose) < 4 || !/[a-z] [a-z]/.test(prose)) continue;
    if (/className=\{?$/.test(before) || isCode(prose)) continue;
    if (isTitle(before)) {
      yield make("titles", [...suites.map(({ title }) => title), text].join(" › "), at);
    } else if (!isTest(path)) yield make("messages", text, at);
  }
  if (comment) yield make("comments", comment.text, comment.at);
}

/** One passage for each paragraph, heading, list item and row of a table. */
function* readMarkdown(path: string, source: string): Generator<Passage> {
  const text = source.replace(/```[\s\S]*?```/g, (code) => code.replace(/[^\n]/g, ""));
  let line = 1;
  for (const block of text.split(/(\n(?:\s*\n|(?=[-*|#]|\d+\. )))/)) {
    if (wordsIn(plain(block)) > 0) yield { path, line, kind: "docs", text: block };
    line += block.split("\n").length - 1;
  }
}

function* readWords(path: string, source: string): Generator<Passage> {
  const lines = source.split("\n");
  for (const [at, line] of lines.entries()) {
    const value = /^\s*"[^"]+": "(.*)",?$/.exec(line)?.[1];
    if (value) yield { path, line: at + 1, kind: "interface", text: value };
  }
}

/** These two files name the phrases. */
const isOwn = (path: string) => path.startsWith("scripts/prose.");

/** Reads every passage of English prose in the repository. */
export function readProse(): Passage[] {
  return files.flatMap((path) => {
    if (isOwn(path)) return [];
    const read = () => readFileSync(join(root, path), "utf8");
    if (path.endsWith(".md")) return [...readMarkdown(path, read())];
    if (path.endsWith("words/en.json")) return [...readWords(path, read())];
    if (/\.(ts|tsx|js|sol)$/.test(path)) return [...readSource(path, read())];
    return [];
  });
}

/** Finds each phrase of a passage that a pattern matches. */
export function findPhrases(passage: Passage): Phrase[] {
  const text = plain(passage.text).replace(/\s+/g, " ");
  const applied = passage.kind === "comments" ? patternsOfComments : patterns;
  return Object.entries(applied).flatMap(([pattern, expression]) =>
    [...text.matchAll(expression)].map(([found]) => ({ ...passage, ...{ pattern, found } })),
  );
}

/** Returns a generator of numbers from 0 to 1 that depend only on the seed (mulberry32). */
function openRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The ends of sentences, and the beginnings of the tags of a doc comment. */
const sentenceEnds = /(?<=[.!?])\s+(?=[A-Z])|\s+(?=@(?:param|returns|throws)\b)/;

function sample(seed: number, count: number) {
  const prose = readProse();
  for (const kind of kinds) {
    const sentences = prose
      .filter((passage) => passage.kind === kind)
      .flatMap(({ text, path, line }) =>
        text
          .split(/\n\s*- /)
          .flatMap((item) => item.replace(/\s+/g, " ").split(sentenceEnds))
          .flatMap((sentence, at, all) => {
            if (wordsIn(plain(sentence)) < 4) return [];
            const before = all[at - 1]?.trim();
            return `${sentence.trim()}   [${path}:${line}]${before ? `   (after: ${before})` : ""}`;
          }),
      );
    const random = openRandom(seed);
    console.log(`\n## ${kind}: ${Math.min(count, sentences.length)} of ${sentences.length}\n`);
    for (let drawn = 0; drawn < count && sentences.length > 0; drawn++) {
      const [sentence] = sentences.splice(Math.floor(random() * sentences.length), 1);
      console.log(`${drawn + 1}. ${sentence}`);
    }
  }
}

// scripts/run.js imports the program, so `import.meta.main` is false.
if (resolve(process.argv[1] ?? "") === import.meta.filename) {
  const [first = "", ...rest] = process.argv.slice(2);
  if (first === "--sample") sample(Number(rest[0] ?? 1), 100);
  else
    for (const { path, line, found, pattern } of readProse().flatMap(findPhrases))
      if ([first, ...rest].some((wanted) => path.startsWith(wanted)))
        console.log(`${path}:${line}: "${found}" (${pattern})`);
}
