import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { statedLogRange } from "./log-range.ts";

const stated = (message: string, blocks = 100_000) =>
  statedLogRange({ code: -32000, message }, blocks);

describe("statedLogRange returns undefined", () => {
  for (const [what, message] of [
    ["for a limit of results", "query returned more than 10000 results"],
    ["for a limit of logs", "logs matched by query exceeds limit of 10000"],
    ["for a limit of results that reads like a range", "maximum is 10000 results"],
    ["without a number", "block range is too wide"],
    ["for zero blocks", "eth_getLogs is limited to a 0 range"],
    ["for more blocks than were refused", "exceed maximum block range: 500000"],
    ["for as many blocks as were refused", "exceed maximum block range: 100000"],
    ["for a number of twenty digits", "exceed maximum block range: 10000000000000000000"],
    ["for a pair in the wrong order", "Try with this block range [0x20, 0x10]."],
    ["for an empty message", ""],
  ] as const) {
    test(what, () => assert.equal(stated(message), undefined));
  }

  test("for a number after 500 characters of other text", () =>
    assert.equal(stated(`${"x".repeat(500)} exceed maximum block range: 10`), undefined));
});

describe("statedLogRange reads", () => {
  const alchemy = "you can make eth_getLogs requests with up to a 10 block range. Based on your";
  for (const [message, blocks] of [
    [`Under the Free tier plan, ${alchemy} parameters, this block range should work:`, 10],
    ["Based on your parameters, this block range should work: [0x1be4213, 0x1be4406]", 500],
    ["query returned more than 10000 results. Try with this block range [0xCB3D, 0xCB46].", 10],
    ["You can make eth_getLogs requests with up to a 2K block range and no limit on the", 2000],
    ["eth_getLogs is limited to a 10,000 range", 10_000],
    ["eth_getLogs is limited to 0 - 10000 blocks range", 10_000],
    ["eth_getLogs is limited to a 5 range", 5],
    ["ranges over 10000 blocks are not supported on freetier", 10_000],
    ["exceed maximum block range: 5000", 5000],
    ["query exceeds max block range 1000", 1000],
    ["range 1000000 exceeds limit of 10000", 10_000],
    ["requested too many blocks from 0 to 16777216, maximum is set to 2048", 2048],
    ["block range is too wide (maximum 1024)", 1024],
    ["too wide blocks range, the limit is 100", 100],
  ] as const) {
    test(`${blocks} from: ${message}`, () => assert.equal(stated(message), blocks));
  }

  test("the suggested pair before the number in words", () =>
    assert.equal(
      stated("with up to a 2K block range, this block range should work: [0x0, 0x9]"),
      10,
    ));
});
