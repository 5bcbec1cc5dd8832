#!/usr/bin/env node
// Runs the solc that npm installs, with the two options that forge passes to a compiler. The file
// is CommonJS, because forge runs it as a program, and only the file extension shows Node the
// module format.
const solc = require("solc");

if (process.argv.includes("--version")) {
  process.stdout.write(
    `solc, the solidity compiler commandline interface\nVersion: ${solc.version()}\n`,
  );
} else if (process.argv.includes("--standard-json")) {
  const chunks = [];
  process.stdin.on("data", (chunk) => chunks.push(chunk));
  process.stdin.on("end", () =>
    process.stdout.write(solc.compile(Buffer.concat(chunks).toString())),
  );
} else {
  process.stderr.write(
    `expected --version or --standard-json, found ${process.argv.slice(2).join(" ")}\n`,
  );
  process.exitCode = 1;
}
