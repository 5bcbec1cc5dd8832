// Measures how long each operation blocks its thread, and sends the times to the parent process:
// `node measure-turns.ts SIZE DIRECTORY [DATABASE_URL]`. The parent process keeps the database
// open. This program does not use the test runner, because the runner's promise hooks would add 5
// to 20 ms to an operation with thousands of promises.

import { openStore } from "../../roles/open-store.ts";
import { median } from "../median.ts";
import { closeAccounts, signInOnce } from "./operations/people.ts";
import { openOperations } from "./operations.ts";
import { turnMsMax, turnsOf } from "./turns.ts";
import { watchStatements } from "./watch.ts";

/**
 * For each operation: the longest turn of the event loop in a round (minimum, median, and maximum
 * of all rounds), and the duration of the slowest statement. All times are in milliseconds.
 */
export type Turns = Record<string, Record<"least" | "p50" | "max" | "statement", number>>;

const roundsMax = 21;
/**
 * After this total time, an operation gets no further round if one of its rounds had only short
 * turns, or if it already had `roundsMin` rounds. A search of a million rows takes half a minute,
 * in thousands of turns of the event loop.
 */
const enoughMs = 5_000;
const roundsMin = 3;
/**
 * Operations that are not measured, because they hash passwords or close resources that other
 * operations need.
 */
const once = [signInOnce, closeAccounts];

const [size = "", dataDirectory = "", databaseUrl] = process.argv.slice(2);
const seen = watchStatements();
const store = await openStore({ dataDirectory, databaseUrl }, false);
const operations = await openOperations(store, Number(size));
const turns: Turns = {};
for (const [name, run] of Object.entries(operations)) {
  if (once.includes(name)) continue;
  const ms: number[] = [];
  seen.clear();
  let allMs = 0;
  const isEnough = () => Math.min(...ms) <= turnMsMax || ms.length >= roundsMin;
  while (ms.length < roundsMax && (allMs < enoughMs || !isEnough())) {
    const { longest, all } = await turnsOf(run);
    ms.push(longest);
    allMs += all;
  }
  const statement = Math.max(0, ...[...seen.values()].map((each) => median(each.ms)));
  turns[name] = { least: Math.min(...ms), p50: median(ms), max: Math.max(...ms), statement };
}
await operations[closeAccounts]!();
await store.close();
process.send!(turns, () => process.disconnect());
