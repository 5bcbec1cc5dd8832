import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sleepUnref } from "../../flow/wait.ts";
import type { Endpoint } from "./endpoint.ts";
import {
  type NetworkEvent,
  openRecord,
  recordLogsShown,
  shrinkLogRange,
} from "./endpoint-record.ts";
import { openNetwork } from "./network.ts";

const hash = `0x${"11".repeat(32)}`;
const block = { number: "0x5", hash, parentHash: hash, timestamp: "0x5", baseFeePerGas: "0x1" };

test("an endpoint that contradicted other endpoints is reported and then called last", async () => {
  const asked: string[] = [];
  const events: NetworkEvent[] = [];
  let nowMs = 0;
  const endpoint = (name: string, code: string): Endpoint => ({
    name,
    ask: async (calls) =>
      calls.map(({ method }) => {
        if (method === "eth_getBlockByNumber") return { result: block };
        if (method === "eth_chainId") return { result: "0x1" };
        asked.push(name);
        return { result: code };
      }),
  });
  const endpoints = [endpoint("liar", "0x01"), endpoint("one", "0x"), endpoint("two", "0x")];
  const network = openNetwork(1, endpoints, (event) => events.push(event), {
    clock: () => nowMs,
    sleep: sleepUnref,
  });
  const whoIsAsked = async () => {
    asked.length = 0;
    const view = await network.openView();
    const [answer] = await view.read([{ method: "eth_getCode", params: [hash, view.at] }]);
    assert.deepEqual(answer, { result: "0x" });
    return [...asked];
  };

  assert.deepEqual(await whoIsAsked(), ["liar", "one", "two"]);
  assert.deepEqual(events, [{ kind: "rpc_differs", rpc: "liar", method: "eth_getCode" }]);
  assert.deepEqual(await whoIsAsked(), ["one", "two"]);
  const { scores } = await network.openView();
  assert.deepEqual(
    scores.filter(({ points }) => points > 0),
    [{ rpc: "liar", points: 1 }],
  );
  nowMs += 600_000;
  assert.deepEqual(await whoIsAsked(), ["liar", "one", "two"], "half of its points are forgotten");
});

test("an endpoint of another chain is reported as `rpc_wrong_chain` and not used", async () => {
  const events: NetworkEvent[] = [];
  const ask: Endpoint["ask"] = async (calls) =>
    calls.map(({ method }) => ({ result: method === "eth_chainId" ? "0x2" : block }));
  const report = (event: NetworkEvent) => events.push(event);
  const network = openNetwork(1, [{ name: "stray", ask }], report, {
    clock: () => 0,
    sleep: sleepUnref,
  });
  await assert.rejects(network.openView(), {
    name: "ChainUnavailable",
    message: "no endpoint of chain 1 responds with this chain ID",
  });
  assert.deepEqual(events, [{ kind: "rpc_wrong_chain", rpc: "stray", found: 2 }]);
});

describe("the maximum number of blocks in a log query", () => {
  const opened = () => openRecord({ name: "one", ask: async () => [] });
  const shown = (record: ReturnType<typeof opened>, times: number) => {
    for (let i = 0; i < times; i++) recordLogsShown(record, record.logs.rangeBlocks, 5000);
  };

  test("needs more queries to grow after each refusal, but at most 257", () => {
    const record = opened();
    shrinkLogRange(record, 20);
    const waits: number[] = [];
    for (let refusals = 0; refusals < 7; ) {
      let wait = 0;
      for (; record.logs.rangeBlocks <= 10; wait++) shown(record, 1);
      waits.push(wait);
      shrinkLogRange(record, record.logs.rangeBlocks);
      assert.equal(record.logs.rangeBlocks, 10);
      refusals++;
    }
    assert.deepEqual(waits, [1, 17, 33, 65, 129, 257, 257]);
  });

  test("does not grow while all queries are for a single block", () => {
    const record = opened();
    shrinkLogRange(record, 20);
    for (let i = 0; i < 100; i++) recordLogsShown(record, 1, 5000);
    assert.equal(record.logs.rangeBlocks, 10);
  });

  test("grows back after the endpoint stated a limit of one block", () => {
    const record = opened();
    shrinkLogRange(record, 2000, 1);
    assert.equal(record.logs.rangeBlocks, 1);
    shown(record, 100);
    assert.equal(record.logs.rangeBlocks, 5000);
  });

  test("is halved if the endpoint refuses a number that it accepted before", () => {
    const record = opened();
    shown(record, 1);
    shrinkLogRange(record, 2000);
    assert.equal(record.logs.rangeBlocks, 1000);
  });
});
