import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import type { BlockReference } from "executable-address/status";
import { openHeads } from "../chain/rpc/heads.ts";
import { openChainLoop } from "./loop.ts";

const pollMs = 1_000;

/**
 * Opens a polling loop for a chain whose node always fails. So the loop gets new blocks only from
 * `noteBlock`.
 */
function openLoop() {
  let requests = 0;
  const heads = openHeads(() => {
    requests++;
    return Promise.reject(new Error("away"));
  }, Date.now);
  const noteBlock = (number: number) => {
    const hash = `0x${number.toString(16).padStart(64, "0")}` as const;
    heads.note({ number, hash, timestamp: 1_800_000_000 + number });
  };
  return { loop: openChainLoop(heads, pollMs), noteBlock, countRequests: () => requests };
}

/** Returns a subscriber that counts its calls. Each call lasts until `finish` is called. */
function heldRun() {
  let finish = () => {};
  const counted = { runs: 0, finish: () => finish() };
  const run = () => {
    counted.runs++;
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  };
  return { counted, run };
}

const settle = () => new Promise(setImmediate);

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"] }));
afterEach(() => mock.timers.reset());

describe("a chain's loop", () => {
  test("calls a subscriber for each new block and after each poll interval", async () => {
    const { loop, noteBlock, countRequests } = openLoop();
    let runs = 0;
    const end = loop.subscribe(async () => {
      runs++;
    });
    await settle();
    assert.equal(runs, 1, "at once");
    mock.timers.tick(pollMs);
    await settle();
    assert.equal(runs, 2, "after a poll");
    noteBlock(1);
    await settle();
    assert.equal(runs, 3, "at another block");
    noteBlock(1);
    await settle();
    assert.equal(runs, 3, "not at the same block");
    mock.timers.tick(pollMs - 1);
    await settle();
    assert.equal(runs, 3, "a turn begins the wait anew");
    loop.startTurn();
    await settle();
    assert.equal(runs, 4, "on request");
    assert.equal(countRequests(), 0, "no head is requested unless a subscriber reads it");
    await end();
  });

  test("does not call a subscriber again before its current call has finished", async () => {
    const { loop, noteBlock } = openLoop();
    const { counted, run } = heldRun();
    const end = loop.subscribe(run);
    for (let number = 1; number <= 5; number++) noteBlock(number);
    mock.timers.tick(10 * pollMs);
    await settle();
    assert.equal(counted.runs, 1);
    counted.finish();
    await settle();
    assert.equal(counted.runs, 2, "once for all the turns meanwhile");
    counted.finish();
    await settle();
    assert.equal(counted.runs, 2);
    await end();
  });

  test("does not delay a subscriber if another subscriber is slow", async () => {
    const { loop, noteBlock } = openLoop();
    const { counted, run } = heldRun();
    const endSlow = loop.subscribe(run);
    let runs = 0;
    const end = loop.subscribe(async () => {
      runs++;
    });
    for (let number = 1; number <= 5; number++) {
      noteBlock(number);
      await settle();
    }
    assert.deepEqual([counted.runs, runs], [1, 6]);
    counted.finish();
    await Promise.all([endSlow(), end()]);
  });

  test("ends a subscription only after the subscriber's current call has finished", async () => {
    const { loop, noteBlock } = openLoop();
    const { counted, run } = heldRun();
    const end = loop.subscribe(run);
    let isEnded = false;
    const ended = end().then(() => {
      isEnded = true;
    });
    await settle();
    assert.equal(isEnded, false);
    counted.finish();
    await ended;
    noteBlock(1);
    loop.startTurn();
    mock.timers.tick(5 * pollMs);
    await settle();
    assert.equal(counted.runs, 1);
  });

  test("requests no block for two poll intervals after the executor reports a block", async () => {
    const { loop, noteBlock, countRequests } = openLoop();
    const seen: (BlockReference | undefined)[] = [];
    const end = loop.subscribe(async () => {
      seen.push(await loop.readHead().catch(() => undefined));
    });
    await settle();
    assert.equal(countRequests(), 1, "no pass has noted any");
    noteBlock(7);
    for (let poll = 0; poll < 2; poll++) {
      mock.timers.tick(pollMs);
      await settle();
    }
    assert.deepEqual([seen.at(-1)?.number, countRequests()], [7, 1]);
    mock.timers.tick(pollMs);
    await settle();
    assert.equal(countRequests(), 2, "the passes are silent");
    await end();
  });
});
