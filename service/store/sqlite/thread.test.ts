import assert from "node:assert/strict";
import { test } from "node:test";
import { UnavailableError } from "../store.ts";
import { startThread } from "./thread.ts";

/** The source code of a thread that doubles each number, and throws an error for 0. */
const source = `
  import { parentPort } from "node:worker_threads";
  parentPort.on("message", (message) => {
    if (message === "stop") return parentPort.close();
    if (message === 0) throw new Error("a fault");
    parentPort.postMessage([2 * message]);
  });`;
const module = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
const start = (onEnd = (_cause: Error) => {}) =>
  startThread<number, number>(module, { file: "", name: "doubling", onEnd });

test("a failed thread rejects pending and later messages", async () => {
  const ends: Error[] = [];
  const thread = start((cause) => ends.push(cause));
  const asked = await Promise.allSettled([thread.ask(1), thread.ask(0), thread.ask(2)]);
  assert.deepEqual(asked[0], { status: "fulfilled", value: 2 });
  for (const each of asked.slice(1)) {
    assert.ok(each.status === "rejected" && each.reason instanceof UnavailableError);
    assert.match(each.reason.message, /the doubling thread has ended: Error: a fault/);
  }
  await assert.rejects(thread.ask(3), UnavailableError);
  await thread.stop();
  assert.equal(ends.length, 1);
});

test("a thread answers in order, and answers every message before it stops", async () => {
  const thread = start();
  const answers = [1, 2, 3].map((number) => thread.ask(number));
  await Promise.all([thread.stop(), thread.stop()]);
  assert.deepEqual(await Promise.all(answers), [2, 4, 6]);
});

test("a worker thread does not start before it gets a message", async () => {
  const ends: Error[] = [];
  const thread = startThread(new URL("data:text/javascript,throw new Error('it has started')"), {
    ...{ file: "", name: "idle" },
    onEnd: (cause) => ends.push(cause),
  });
  await thread.stop();
  assert.deepEqual(ends.map(String), ["UnavailableError: the idle thread has ended"]);
  await assert.rejects(thread.ask(1), UnavailableError);
});
