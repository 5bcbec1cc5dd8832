#!/usr/bin/env node
// The solc that npm installs, under the two options by which forge speaks to a compiler. CommonJS,
// because forge runs it as a program and its extension alone has to tell Node how to read it.
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
