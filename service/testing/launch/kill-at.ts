// Kills a launch at the point in KILL_AT, for example "before insert into records" or "after rename
// with saved". Tests load this file into the launch's process with --import. The point can be a
// statement in any thread of the process.

import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import Database from "better-sqlite3";

const [, when, what] = /^(before|after) (.+)$/.exec(process.env.KILL_AT!)!;

/**
 * Kills the process with SIGKILL if KILL_AT selects the step `done`. The first word of KILL_AT must
 * be `moment`, and the rest must be the beginning of `done`.
 */
function killAt(moment: "before" | "after", done: string): void {
  if (moment === when && done.startsWith(what!)) process.kill(process.pid, "SIGKILL");
}

const statement = Object.getPrototypeOf(new Database(":memory:").prepare("select 1"));
for (const name of ["run", "all", "get"] as const) {
  const original = statement[name];
  statement[name] = function (...parameters: unknown[]) {
    const text = this.source.replaceAll('"', "");
    killAt("before", text);
    const result = original.apply(this, parameters);
    killAt("after", text);
    return result;
  };
}

const rename = promises.rename;
promises.rename = async (from, to) => {
  const { sent: _, ...rest } = JSON.parse(fs.readFileSync(from, "utf8"));
  const text = `rename with ${Object.keys(rest).at(-1)}`;
  killAt("before", text);
  await rename(from, to);
  killAt("after", text);
};
const writeFileSync = fs.writeFileSync;
fs.writeFileSync = (file, data, options) => {
  const text = `write of ${basename(String(file))}`;
  killAt("before", text);
  writeFileSync(file, data, options);
  killAt("after", text);
};
syncBuiltinESMExports();
