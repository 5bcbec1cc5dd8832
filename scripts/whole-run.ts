// Loaded into each process of a test run. Fails a test file that ends before all its tests and
// hooks have run. Node's runner would pass such a file if it exits with 0, like a file without
// tests.
//
// By default, Node's runner also tracks each promise with an async hook, to find the test to which
// an uncaught error belongs. Promises are not tracked here, because tracking would take most of the
// simulator's CPU time: compare the `time` of executor/test/simulator/idle.long.test.ts with
// `trackPromises` true and false. An uncaught error still fails its file, and `node FILE` names its
// test. All other async resources are tracked, because the runner uses them to find a hook's suite.

import hooks from "node:async_hooks";
import { isMainThread } from "node:worker_threads";

// Programs and threads that a test starts also load this module, but they are not tests.
const isTestFile = isMainThread && /\.test\.ts$/.test(process.argv[1] ?? "");

if (isTestFile && process.env.NODE_TEST_CONTEXT) {
  const { createHook } = hooks;
  const besidesPromises: typeof createHook = (options) =>
    createHook({ ...options, trackPromises: false });
  Object.assign(hooks, { createHook: besidesPromises });
  const { after } = await import("node:test");
  Object.assign(hooks, { createHook });

  let isWhole = false;
  // This hook belongs to the file itself, so it runs after the file's last test.
  after(() => {
    isWhole = true;
  });
  process.on("exit", (code) => {
    if (isWhole || code !== 0) return;
    process.exitCode = 1;
    console.error(`${process.argv[1]} ended before all its tests had finished.`);
  });
}
