// Loaded into each process of a test run: a test file that ends before all its tests and hooks have
// is a failure. Node's runner takes one that ends with 0 for a file without tests, which passes.

import { after } from "node:test";
import { isMainThread } from "node:worker_threads";

// Programs and threads that a test starts inherit the import, and are no tests.
const isTestFile = isMainThread && /\.test\.ts$/.test(process.argv[1] ?? "");

if (isTestFile && process.env.NODE_TEST_CONTEXT) {
  let isWhole = false;
  // A hook of the file itself, which runs when its last test has ended.
  after(() => {
    isWhole = true;
  });
  process.on("exit", (code) => {
    if (isWhole || code !== 0) return;
    process.exitCode = 1;
    console.error(`${process.argv[1]} ended before its tests had: it ran less than it declares.`);
  });
}
