// What the loop of a chain does with endpoints that answer what cannot be read.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { openRecord, shrinkLogRange } from "../chain/rpc/endpoint-record.ts";
import type { Answer, Call } from "../chain/rpc/json-rpc.ts";
import type { Asker, View } from "../chain/rpc/view.ts";
import { type Anchor, freshFollowMemory, type Turn } from "./parts.ts";
import { sweep } from "./sweep.ts";

const token: Hex = `0x${"70".repeat(20)}`;
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, "0")}`;
const blockAt = (number: number, hash = hashOf(number)): Answer => ({
  result: {
    ...{ number: toQuantity(number), hash, parentHash: hashOf(number - 1) },
    ...{ timestamp: toQuantity(number), baseFeePerGas: "0x1", gasLimit: "0x1" },
  },
});

/** A turn at block 100, all read up to 10. */
function turnOf(answers: readonly ((call: Call) => Answer)[], kept: unknown[] = []): Turn {
  const askers = answers.map((answer, index): Asker => {
    const name = `${index}`;
    const ask = async (calls: readonly Call[]) => calls.map(answer);
    return { name, record: openRecord({ name, ask }), hasHead: true, ask, accuse() {} };
  });
  const [number, hash, parentHash] = [100, hashOf(100), hashOf(99)];
  const view: Partial<View> = {
    head: { number, hash, parentHash, timestamp: 100 } as View["head"],
    quorum: answers.length,
    askers: () => askers,
    read: async (calls) => calls.map(({ params }) => blockAt(Number(params[0]))),
  };
  const anchor: Anchor = { number: 10, hash: hashOf(10) };
  return {
    chain: { chainId: 1, tokens: [token], paymentConfirmations: 1 },
    view: view as View,
    memory: freshFollowMemory(),
    tuning: { rangeBlocksMax: 200, rangesPerPass: 1, resweepBlocks: 0, recipientsMax: 0 },
    report() {},
    store: {
      matchAddresses: async () => [],
      findCreated: async () => [],
      findOldestCreation: async () => 0,
      findAnchor: async (before = 1000) => (before > 10 ? anchor : undefined),
      keep: async (...args) => void kept.push(args),
      undoAbove: async () => {},
    },
  };
}

describe("sweep", () => {
  const showing =
    (logs: Answer, receipts = logs, hash?: Hex) =>
    ({ method, params }: Call): Answer => {
      if (method === "eth_getLogs") return logs;
      return method === "eth_getBlockReceipts" ? receipts : blockAt(Number(params[0]), hash);
    };

  test("ChainUnavailable where the logs are not a list", () =>
    assert.rejects(sweep(turnOf([showing({ result: null })])), {
      name: "ChainUnavailable",
      message: "no endpoint shows logs of blocks 11 to 99",
    }));

  test("ChainUnavailable where two endpoints show another last block", () => {
    const other = showing({ result: [] }, undefined, hashOf(7));
    return assert.rejects(sweep(turnOf([showing({ result: [] }), other])), {
      name: "ChainUnavailable",
      message: `reorg in passing: block 99 is ${hashOf(99)} and ${hashOf(7)}`,
    });
  });

  test("a block whose logs are refused and whose receipts are no list is not read", async () => {
    const kept: unknown[] = [];
    const refused = { error: { code: -32005, message: "too many" } };
    const turn = turnOf([showing(refused, { result: null })], kept);
    for (const { record } of turn.view.askers(0)) shrinkLogRange(record, 2);
    assert.deepEqual(await sweep(turn), { upTo: 10, isOld: false });
    assert.deepEqual(kept, []);
  });

  for (const message of [
    "limit exceeded, too many requests for this range",
    "429 Too Many Requests",
    "query returned more than 10000 results",
    "nothing that any table of errors has",
  ]) {
    test(`asks for half the blocks after one refusal: ${message}`, async () => {
      const kept: unknown[] = [];
      const asked: number[] = [];
      const limited = (call: Call): Answer => {
        if (call.method !== "eth_getLogs") return blockAt(Number(call.params[0]));
        const { fromBlock, toBlock } = call.params[0] as { fromBlock: Hex; toBlock: Hex };
        const blocks = Number(toBlock) - Number(fromBlock) + 1;
        asked.push(blocks);
        return blocks > 10 ? { error: { code: -32000, message } } : { result: [] };
      };
      const turn = turnOf([limited], kept);
      turn.tuning = { ...turn.tuning, rangesPerPass: 6 };
      for (let pass = 0; pass < 6; pass++) await sweep(turn);
      assert.deepEqual(asked.slice(0, 5), [89, 44, 22, 11, 5]);
      assert.ok(kept.length > 0, "the blocks that it shows are read");
    });
  }
});
