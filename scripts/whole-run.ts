// Loaded into each process of a test run. A test file that ends before all its tests and hooks
// counts as a failure. Node's runner would treat a file that ends with 0 as a file without tests,
// which passes.
//
// Node's runner also follows each promise by an async hook, to know which test an uncaught error
// belongs to. That would be most of the simulator's CPU time, as `time` of
// executor/test/simulator/idle.long.test.ts shows with `trackPromises` true and false, so promises
// are not tracked. Such an error still fails its file, and `node FILE` names its test. All other
// async resources are tracked, because the runner uses them to find the suite of a hook.

import hooks from "node:async_hooks";
import { isMainThread } from "node:worker_threads";

// Programs and threads that a test starts inherit the import, but are not tests.
const isTestFile = isMainThread && /\.test\.ts$/.test(process.argv[1] ?? "");

if (isTestFile && process.env.NODE_TEST_CONTEXT) {
  const { createHook } = hooks;
  const besidesPromises: typeof createHook = (options) =>
    createHook({ ...options, trackPromises: false });
  Object.assign(hooks, { createHook: besidesPromises });
  const { after } = await import("node:test");
  Object.assign(hooks, { createHook });

  let isWhole = false;
  // A hook of the file itself, which runs after its last test.
  after(() => {
    isWhole = true;
  });
  process.on("exit", (code) => {
    if (isWhole || code !== 0) return;
    process.exitCode = 1;
    console.error(`${process.argv[1]} ended before all its tests had finished.`);
  });
}
