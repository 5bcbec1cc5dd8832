import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoint } from "./endpoint.ts";
import type { NetworkEvent } from "./endpoint-record.ts";
import { openNetwork } from "./network.ts";

const hash = `0x${"11".repeat(32)}`;
const block = { number: "0x5", hash, parentHash: hash, timestamp: "0x5", baseFeePerGas: "0x1" };

test("reports an endpoint that contradicts others, and calls that endpoint last", async () => {
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
  const network = openNetwork(
    1,
    endpoints,
    (event) => events.push(event),
    () => nowMs,
  );
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

test("reports rpc_wrong_chain for an endpoint of another chain, and does not read it", async () => {
  const events: NetworkEvent[] = [];
  const ask: Endpoint["ask"] = async (calls) =>
    calls.map(({ method }) => ({ result: method === "eth_chainId" ? "0x2" : block }));
  const report = (event: NetworkEvent) => events.push(event);
  const network = openNetwork(1, [{ name: "stray", ask }], report, () => 0);
  await assert.rejects(network.openView(), {
    name: "ChainUnavailable",
    message: "no endpoint of chain 1 responds with this chain ID",
  });
  assert.deepEqual(events, [{ kind: "rpc_wrong_chain", rpc: "stray", found: 2 }]);
});
