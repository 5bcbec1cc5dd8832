#!/usr/bin/env node
// The program `executable-address`: runs commands.ts with the input and output of this process.

import { run } from "./commands.ts";

/**
 * The part of Node's `process` that the program uses. The library does not depend on Node's types.
 */
declare const process: {
  argv: string[];
  env: Record<string, string | undefined>;
  exitCode: number | undefined;
  stdin: AsyncIterable<Uint8Array>;
  exit(code: number): never;
  getBuiltinModule(name: "fs"): { readFileSync(path: string, encoding: "utf8"): string };
  stdout: Output;
  stderr: Output;
};
type Output = {
  write(text: string): void;
  on(event: "error", listener: (error: { code?: string }) => void): void;
};

// A closed pipe is not an error, because a reader such as `head` may stop early.
for (const output of [process.stdout, process.stderr])
  output.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(process.exitCode ?? 0);
  });

async function readText(input: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of input) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  readInput: () => readText(process.stdin),
  readFile: (path) => process.getBuiltinModule("fs").readFileSync(path, "utf8"),
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
});
