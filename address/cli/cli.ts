#!/usr/bin/env node
// The program `executable-address`: commands.ts on this process.

import { run } from "./commands.ts";

/** As much of Node's as is used here: the library knows nothing of Node. */
declare const process: {
  argv: string[];
  env: Record<string, string | undefined>;
  exitCode: number;
  stdin: AsyncIterable<Uint8Array>;
  stdout: { write(text: string): void };
  stderr: { write(text: string): void };
};

async function readInput(): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of process.stdin) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  readInput,
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
});
