// Finds functions that contain SQL but never ran, according to V8's coverage.

import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const service = resolve(import.meta.dirname, "../..");
const holdsSql =
  /\b(selectFrom|updateTable|deleteFrom|insertInto)\(|\bsql(<[^`]*>)?`|\bprepare(<.*>)?\(|readerOf/;
/**
 * Files whose functions do not run in the main thread of a running service. These functions run in
 * operators' commands, at startup, or in threads that write to SQLite.
 */
const elsewhere = [
  /^store\/(migrate|copy|postgres|sqlite)|(^|\/)tables\.ts$/,
  /(^|\/)admin\.ts$|^test(ing)?\//,
];

/** Starts V8's coverage. */
export async function startCoverage() {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return {
    /** Lists functions with SQL that were loaded but never called, each as its file and name. */
    async sqlNotRun(): Promise<string[]> {
      const { result } = await session.post("Profiler.takePreciseCoverage");
      session.disconnect();
      const left = result.flatMap(({ url, functions }) => {
        if (!url.startsWith("file:")) return [];
        const path = relative(service, fileURLToPath(url));
        if (/^(\.\.|node_modules)/.test(path) || elsewhere.some((each) => each.test(path)))
          return [];
        const source = readFileSync(resolve(service, path), "utf8");
        return functions
          .filter(({ functionName, ranges: [range] }) => {
            const isRun = range!.count > 0 || functionName === "";
            return !isRun && holdsSql.test(source.slice(range!.startOffset, range!.endOffset));
          })
          .map(({ functionName }) => `${path} ${functionName}`);
      });
      return left.sort();
    },
  };
}
