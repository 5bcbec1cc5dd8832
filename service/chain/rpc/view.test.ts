import assert from "node:assert/strict";
import { test } from "node:test";
import { sleepUnref } from "../../flow/wait.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Answer, Call } from "./json-rpc.ts";
import { openNetwork } from "./network.ts";

const hash = (byte: string) => `0x${byte.repeat(32)}`;
const block = { number: "0x5", hash: hash("05"), parentHash: hash("04"), timestamp: "0x64" };

test("a read throws each endpoint's error if no endpoint has a usable answer", async () => {
  const answer = (place: number, { method }: Call): Answer => {
    if (method === "eth_chainId") return { result: "0x1" };
    if (method === "eth_getBlockByNumber") return { result: block };
    return { error: { code: -32601, message: `no such method at ${place}` } };
  };
  const endpoints = [0, 1].map(
    (place): Endpoint => ({
      name: `rpc${place}`,
      ask: async (calls) => calls.map((call) => answer(place, call)),
    }),
  );
  const network = openNetwork(1, endpoints, () => {}, { clock: () => 0, sleep: sleepUnref });
  const view = await network.openView();
  await assert.rejects(view.read([{ method: "eth_getBalance", params: [] }]), {
    name: "ChainUnavailable",
    message:
      "expected an answer to eth_getBalance from one of 2 endpoints, found " +
      "rpc0: no such method at 0, rpc1: no such method at 1",
  });
});
