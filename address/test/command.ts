// Runs a command of the `executable-address` program in the process of the test.

import { readFileSync } from "node:fs";
import { run } from "../cli/commands.ts";

/** @returns the exit status, stdout, and stderr */
export async function runCommand(
  args: string[],
  input = "",
  env: Record<string, string | undefined> = {},
) {
  let [out, err] = ["", ""];
  const status = await run(args, {
    env,
    readInput: async () => input,
    readFile: (path) => readFileSync(path, "utf8"),
    print: (text) => (out += text),
    complain: (text) => (err += text),
  });
  return { status, out, err };
}
