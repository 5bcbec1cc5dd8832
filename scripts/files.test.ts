// Tests rules that make code easy to find. Folders have few entries, and each file has its own
// subject.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { files, isTest, readSpecifiers, resolveImport, root, sources, textOf } from "./tree.ts";

const production = sources.filter((path) => !isTest(path) && !path.startsWith("examples/"));
const countLines = (path: string) => textOf.get(path)!.split("\n").length - 1;

/**
 * Maps each file to the production files that import it. Tests and examples are not production
 * files.
 */
const importers = Map.groupBy(
  production.flatMap((path) =>
    readSpecifiers(path)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => ({ path, target: resolveImport(path, specifier) })),
  ),
  ({ target }) => target,
);
const countImporters = (path: string) =>
  new Set(importers.get(path)?.map((each) => each.path) ?? []).size;

/**
 * The files with a single importer and at most 60 lines. The value is the reason why the file is
 * separate. A file of this size without a stated reason must be merged into its importer.
 */
const smallFiles: Readonly<Record<string, string>> = {
  "contracts/assurance/mutation/report.ts": "the committed report, read by the run and by its test",
  "contracts/assurance/mutation/trial-worker.ts": "the entry of a thread",
  "element/drawing/draw-wallet.ts": "a part of the element that is loaded on demand",
  "service/chain/admin.ts": "an operator's commands, as in each room",
  "service/follow/tables.ts": "the room's tables, as in each room",
  "service/http/lookup/lookup.ts": "a route of the API",
  "service/http/simulation/simulation.ts": "a route of the API",
  "service/launch/admin.ts": "an operator's commands, as in each room",
  "service/main.ts": "the program",
  "service/store/sqlite/checkpoint-worker.ts": "the entry of a thread",
  "service/store/sqlite/read-worker.ts": "the entry of a thread",
  "service/store/sqlite/statement-worker.ts": "the entry of a thread",
  "web/shown/value.ts": "how an argument is shown, which a test runs without JSX",
};

const declaration = /(export )?(default )?(async )?function\b/.source;
const value = /(export default |(export )?const \w+(:([^=]|=>)+)? =\s+)/.source;
const arrow = /(async )?(\w+|(<.*?>)?\([\s\S]*?\)(: [^;=]+)?) =>/.source;
/** Matches a top-level function, or a top-level constant whose value is a function. */
const isFunction = new RegExp(`^(${declaration}|${value}${arrow})`);

const isComment = /^\s*(\/\/\/?|\/\*\*?|\*)/;

describe("the source files", () => {
  test("every short file with only one importer has a stated reason to be separate", () => {
    const small = production.filter((path) => countImporters(path) === 1 && countLines(path) <= 60);
    assert.deepEqual(small.toSorted(), Object.keys(smallFiles).toSorted());
  });

  test("no file has more than 450 lines", () => {
    const long = files
      .filter((path) => /\.(ts|tsx|js|cjs|sol)$/.test(path))
      .filter((path) => readFileSync(join(root, path), "utf8").split("\n").length - 1 > 450);
    assert.deepEqual(long, []);
  });

  test("no top-level function outside of tests has more than 70 lines", () => {
    const long = production.flatMap((path) => {
      const lines = textOf.get(path)!.split("\n");
      const starts = lines.flatMap((line, at) => (/^[a-z/@]/.test(line) ? [at] : []));
      return starts.flatMap((at, index) => {
        const statement = lines
          .slice(at, starts[index + 1])
          .join("\n")
          .trimEnd();
        if (!isFunction.test(statement)) return [];
        const count = statement.split("\n").length;
        return count > 70 ? [`${path}:${at + 1} has ${count}`] : [];
      });
    });
    assert.deepEqual(long, []);
  });

  test("no more than three exported types share a name", () => {
    const names = production.flatMap((path) =>
      [...textOf.get(path)!.matchAll(/^export (?:type|interface) (\w+)[ =<{]/gm)].map(
        ([, name]) => ({ name: name!, path }),
      ),
    );
    const shared = [...Map.groupBy(names, ({ name }) => name)].filter(
      ([, places]) => places.length > 3,
    );
    assert.deepEqual(
      shared.map(([name, places]) => `${name}: ${places.map(({ path }) => path).join(", ")}`),
      [],
    );
  });

  test("the root has at most 10 configuration files", () => {
    const atRoot = files.filter((path) => !path.includes("/"));
    const configuration = atRoot.filter((path) => !/^(.*\.md|LICENSE)$/.test(path));
    assert.ok(configuration.length <= 10, configuration.join(", "));
  });

  test("no folder contains more than 25 entries", () => {
    const shown = new Map<string, Set<string>>();
    for (const path of files) {
      const parts = path.split("/");
      for (let depth = 0; depth < parts.length; depth++) {
        // `ls` omits names that begin with a dot.
        if (parts[depth]!.startsWith(".")) break;
        const folder = parts.slice(0, depth).join("/");
        const entries = shown.get(folder) ?? new Set();
        shown.set(folder, entries.add(parts[depth]!));
      }
    }
    const wrong = [...shown].filter(([, entries]) => entries.size > 25).map(([folder]) => folder);
    assert.deepEqual(wrong, []);
  });

  test("the table of service/executor/README.md names exactly the executor's files", () => {
    const folder = "service/executor";
    const page = readFileSync(join(root, folder, "README.md"), "utf8");
    const rows = [...page.matchAll(/^\| (`.*?`) \| (.*) \|$/gm)];
    const wordsOf = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word!);
    // A row about a folder describes the folder's files, whose names have no extension there.
    const named = rows.flatMap(([, paths, description]) =>
      paths!.endsWith("/`")
        ? wordsOf(description!).map((name) => `${folder}/${paths!.slice(1, -1)}${name}.ts`)
        : wordsOf(paths!).map((path) => `${folder}/${path}`),
    );
    const own = sources.filter(
      (path) =>
        path.startsWith(`${folder}/`) && !path.startsWith(`${folder}/test/`) && !isTest(path),
    );
    assert.deepEqual(named.toSorted(), own.toSorted());
  });

  test("no file has a vague name", () => {
    const vague = files.filter((path) =>
      /(^|\/)(utils?|helpers?|common|misc|lib)(\.|\/)/.test(path),
    );
    assert.deepEqual(vague, []);
  });

  test("no line is longer than 100 columns or contains a to-do comment", () => {
    const wrong = files
      .filter((path) => /\.(ts|tsx|js|cjs|sol)$/.test(path))
      .flatMap((path) =>
        readFileSync(join(root, path), "utf8")
          .split("\n")
          .flatMap((line, at) => {
            const long = line.length > 100 && !/https?:\/\/|["'`][^ ]{60,}["'`]/.test(line);
            return long || /\b(TO(?=DO)DO|FIX(?=ME)ME|X{3})\b/.test(line)
              ? [`${path}:${at + 1}`]
              : [];
          }),
      );
    assert.deepEqual(wrong, []);
  });

  test("no comment merges the items of a numbered list into one line", () => {
    const wrong = sources.flatMap((path) => {
      const lines = textOf.get(path)!.split("\n");
      return lines.flatMap((line, at) => {
        if (!isComment.test(line) || !/\S 2\. /.test(line.replace(isComment, ""))) return [];
        const start = lines.slice(0, at).findLastIndex((each) => !isComment.test(each)) + 1;
        const before = lines.slice(start, at + 1).map((each) => each.replace(isComment, ""));
        return /(^| )1\. /.test(before.join(" ")) ? [`${path}:${at + 1}`] : [];
      });
    });
    assert.deepEqual(wrong, []);
  });

  test("each block tag of a comment starts a line", () => {
    const isTagInside = /[^\s*/].* @(param|returns?|throws|dev|notice)\b/;
    const wrong = files
      .filter((path) => /\.(ts|tsx|js|cjs|sol)$/.test(path))
      .flatMap((path) =>
        readFileSync(join(root, path), "utf8")
          .split("\n")
          .flatMap((line, at) =>
            isComment.test(line) && isTagInside.test(line) ? [`${path}:${at + 1}`] : [],
          ),
      );
    assert.deepEqual(wrong, []);
  });
});
