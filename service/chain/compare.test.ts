import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { compareEndpoints } from "./compare.ts";

/** Starts a node at block `head`. All bytes of its block hashes are `byte`. */
async function nodeAt(head: number, byte: string, hasFinalized = true): Promise<string> {
  const block = (tag: string) => {
    const number = tag === "latest" ? head : tag === "finalized" ? head - 64 : Number(tag);
    const hash = `0x${byte.repeat(32)}`;
    const isServed = tag !== "finalized" || hasFinalized;
    const fields = { number: `0x${number.toString(16)}`, hash, parentHash: hash, timestamp: "0x1" };
    return isServed ? { result: fields } : { error: { code: -39001, message: "unknown block" } };
  };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const asked = JSON.parse(text) as { id: number; method: string; params: string[] }[];
    const answers = [asked].flat().map(({ id, method, params }) => ({
      id,
      ...(method === "eth_getBlockByNumber" ? block(params[0]!) : { result: "0x1" }),
    }));
    response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const factory = `0x${"fa".repeat(20)}` as const;

describe("compareEndpoints", () => {
  test("reports an endpoint with a conflicting block, but not one that lags behind", async () => {
    const urls = await Promise.all([nodeAt(100, "ab"), nodeAt(98, "cd"), nodeAt(98, "ab", false)]);
    const reports = await compareEndpoints({ chainId: 1, rpcUrls: urls, tokens: [] }, factory);
    assert.deepEqual(
      reports.map(({ headBlock, finalizedBlock, differsOn }) => [
        headBlock,
        finalizedBlock,
        differsOn,
      ]),
      [
        [100, 36, []],
        [98, 34, ["eth_getBlockByNumber"]],
        [98, null, []],
      ],
    );
  });

  test("reports both of two endpoints that contradict each other", async () => {
    const rpcUrls = await Promise.all([nodeAt(9, "ab"), nodeAt(9, "cd")]);
    const reports = await compareEndpoints({ chainId: 1, rpcUrls, tokens: [] }, factory);
    assert.deepEqual(
      reports.map(({ differsOn }) => differsOn),
      [["eth_getBlockByNumber"], ["eth_getBlockByNumber"]],
    );
  });

  test("reports no contradictions for an endpoint that does not respond", async () => {
    const rpcUrls = [await nodeAt(9, "ab"), "http://127.0.0.1:1"];
    const [, gone] = await compareEndpoints({ chainId: 1, rpcUrls, tokens: [] }, factory);
    assert.deepEqual(gone, {
      headBlock: null,
      finalizedBlock: null,
      answeredMs: null,
      differsOn: [],
      refuses: [],
      logBlocks: null,
      callsPerSecond: null,
      archiveBlocks: null,
      proves: false,
      overrides: false,
    });
  });

  test("reports how many blocks each endpoint allows in one log query", async () => {
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const asked = JSON.parse(text) as { id: number; method: string; params: unknown[] };
      const answers = [asked].flat().map(({ id, method, params }) => {
        if (method !== "eth_getLogs") return { id, result: "0x1" };
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string };
        const isWide = Number(toBlock) - Number(fromBlock) >= 100;
        const error = { code: -32005, message: "block range too large" };
        return isWide ? { id, error } : { id, result: [] };
      });
      response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => server.close());
    const limited = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const tokens = [{ address: factory }];
    const rpcUrls = [await nodeAt(3000, "ab"), limited];
    const reports = await compareEndpoints(
      { chainId: 1, rpcUrls, tokens, callsPerSecond: { [limited]: 7 } },
      factory,
    );
    assert.deepEqual(
      reports.map(({ logBlocks, callsPerSecond }) => [logBlocks, callsPerSecond]),
      [
        [2000, null],
        [100, 7],
      ],
    );
  });
});
