// Makes a test file fail if it exits before all its tests and hooks have run. Each process of a
// test run loads this module through scripts/run.js. By default, such a file would pass with exit
// code 0, as if it contained no tests.
//
// Node's runner tracks each promise with an async hook to find the test that caused an uncaught
// error. This module disables the tracking of promises, which would take most of the simulator's
// CPU time. To measure this cost, run service/executor/test/simulator/idle.long.test.ts with both
// values of `trackPromises`. Compare the CPU times that the shell's `time` prints. If a test causes
// an uncaught error, the test file still fails. Run `node FILE` to find the name of this test.
// Other async resources are still tracked. The runner uses them to find a hook's suite.

import hooks from "node:async_hooks";
import { isMainThread } from "node:worker_threads";

// Programs and threads that a test starts also load this module, but they contain no tests.
const isTestFile = isMainThread && /\.test\.ts$/.test(process.argv[1] ?? "");

if (isTestFile && process.env.NODE_TEST_CONTEXT) {
  const { createHook } = hooks;
  const besidesPromises: typeof createHook = (options) =>
    createHook({ ...options, trackPromises: false });
  Object.assign(hooks, { createHook: besidesPromises });
  const { after } = await import("node:test");
  Object.assign(hooks, { createHook });

  let isWhole = false;
  // This hook belongs to the file, so it runs after the file's last test.
  after(() => {
    isWhole = true;
  });
  process.on("exit", (code) => {
    if (isWhole || code !== 0) return;
    process.exitCode = 1;
    console.error(`${process.argv[1]} ended before all its tests had finished.`);
  });
}
