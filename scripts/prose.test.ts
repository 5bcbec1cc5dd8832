// Counts phrases that plain technical English does not use (CONTRIBUTING.md, "Writing"). This test
// is only a safety net: text that passes can still be hard to read.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { countWords, findPhrases, type Kind, type Passage, readProse } from "./prose.ts";

const rooms = ["address", "element", "shop", "contracts", "service", "web", "e2e", "scripts"];
const roomOf = ({ path, kind }: Passage): string => {
  const room = path.split("/")[0]!;
  return kind !== "docs" && rooms.includes(room) ? room : "docs";
};

/** Phrases per 1,000 words, for each room. A budget may only decrease. */
const budgets: Readonly<Record<string, number>> = {
  address: 0,
  element: 0.3,
  shop: 0,
  contracts: 0,
  service: 0.1,
  web: 0.3,
  e2e: 0,
  scripts: 0,
  docs: 0.3,
};

const prose = Map.groupBy(readProse(), roomOf);

/** Lists the files with the most phrases, and some of those phrases. */
function listWorst(passages: readonly Passage[]): string {
  const byFile = Map.groupBy(passages.flatMap(findPhrases), ({ path }) => path);
  const worst = [...byFile].toSorted(([, a], [, b]) => b.length - a.length).slice(0, 8);
  return worst
    .map(([path, phrases]) => {
      const some = phrases.slice(0, 3).map(({ line, found }) => `"${found}" in line ${line}`);
      return `\n  ${phrases.length} in ${path}: ${some.join(", ")}`;
    })
    .join("");
}

describe("prose", () => {
  for (const [room, budget] of Object.entries(budgets)) {
    test(`${room} has at most ${budget} phrases to rewrite per 1,000 words`, (t) => {
      const passages = prose.get(room) ?? [];
      const count = passages.flatMap(findPhrases).length;
      const rate = (count * 1000) / countWords(passages);
      const rounded = Math.ceil(rate * 10) / 10;
      if (rounded < budget) t.diagnostic(`lower the budget of ${room} to ${rounded}`);
      const help =
        "node scripts/run.js scripts/prose.ts PATH lists them with what to write instead";
      assert.ok(rate <= budget, `${count} phrases, ${rounded}; ${help}${listWorst(passages)}`);
    });
  }

  const passage = (text: string): Passage => ({ path: "x", line: 1, kind: "docs", text });
  const found = (text: string) => findPhrases(passage(text)).map(({ found }) => found);

  test("the prose check finds a phrase that is split across two lines", () => {
    assert.deepEqual(found("It is read a second\n time"), ["a second time"]);
  });

  test("the prose check finds a comment that begins with What or Who", () => {
    const starts = (text: string) =>
      findPhrases({ ...passage(text), kind: "comments" }).map(({ found }) => found.trim());
    assert.deepEqual(starts("What a transaction did."), ["What"]);
    assert.deepEqual(starts("The result of a transaction."), []);
  });

  test("the prose check allows the same words in their usual meaning", () => {
    const usual = [
      "The error says what is wrong.",
      "There is no receipt.",
      "The lease is no longer valid.",
      "The founder understands it.",
    ];
    assert.deepEqual(usual.flatMap(found), []);
  });

  test("the prose check reads docs, comments, test titles, messages, and the interface", () => {
    const passages = [...prose.values()].flat();
    const has = (kind: Kind, path: string, part: string) =>
      passages.some((each) => each.kind === kind && each.path === path && each.text.includes(part));
    assert.ok(has("docs", "CONTRIBUTING.md", "Budgets only decrease"));
    assert.ok(has("comments", "scripts/tree.ts", "for the tests of the layout"));
    assert.ok(has("titles", "scripts/files.test.ts", "no file has more than 450 lines"));
    assert.ok(has("messages", "scripts/pages.ts", "only the API is served"));
    assert.ok(has("interface", "element/words/en.json", "Unknown token"));
  });

  test("the prose check reads a title below the titles of its own suites", () => {
    const titles = [...prose.values()].flat().filter(({ kind }) => kind === "titles");
    const ofDashboard = titles.filter(({ path }) =>
      path.endsWith("http/dashboard/dashboard.test.ts"),
    );
    assert.match(ofDashboard[0]?.text ?? "", /^the dashboard's API on \$\{\w+\} › /);
  });
});
