// Measures how long each operation blocks its thread, and sends the times to the parent process.
// Usage: `node measure-turns.ts SIZE DIRECTORY [DATABASE_URL]`. The parent process keeps the
// database open. This program does not use the test runner, because its promise hooks add 5 to 20
// ms to long operations.

import { openStore } from "../../roles/open-store.ts";
import { median } from "../median.ts";
import { closeAccounts, signInOnce } from "./operations/people.ts";
import { openOperations } from "./operations.ts";
import { turnMsMax, turnsOf } from "./turns.ts";
import { watchStatements } from "./watch.ts";

/**
 * The results by operation, in milliseconds. In each round, only the longest turn of the event loop
 * counts. `least`, `p50`, and `max` are the minimum, median, and maximum of these turns.
 * `statement` is the median of the durations of each round's slowest statement.
 */
export type Turns = Record<string, Record<"least" | "p50" | "max" | "statement", number>>;

const roundsMax = 21;
/**
 * An operation is repeated until its rounds have taken `enoughMs` in total, or `roundsMax` times.
 * If each round had a turn longer than {@link turnMsMax}, there are at least `roundsMin` rounds.
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
