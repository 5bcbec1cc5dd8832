import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { type Answer, type Block, blockOf as readBlock } from "../../chain/rpc/json-rpc.ts";
import { compareReceipts, describeReceipts } from "./receipt.ts";
import { readFinalBlock } from "./settle.ts";

const receipt = (block: string, status = "0x1") => ({
  transactionHash: "0x11",
  blockHash: `0x${block.repeat(32)}`,
  blockNumber: "0x5",
  status,
  gasUsed: "0x10",
  effectiveGasPrice: "0x2",
  logs: [],
});
const answersOf = (...results: unknown[]): Answer[] => results.map((result) => ({ result }));
const failed: Answer[] = [{ error: { code: -32005, message: "limit exceeded" } }];
const blockOf = ({ found }: ReturnType<typeof compareReceipts>) =>
  typeof found === "string" ? found : (found.blockHash.slice(0, 4) as Hex);

describe("compareReceipts", () => {
  test("returns `disagreement` if two endpoints show different receipts", () => {
    const status = [answersOf(receipt("aa")), answersOf(receipt("aa", "0x0"))];
    assert.equal(blockOf(compareReceipts(status, 2)), "disagreement");
  });

  test("reports an endpoint whose receipt differs from the receipt of two endpoints", () => {
    const answers = [answersOf(receipt("bb")), answersOf(receipt("aa")), answersOf(receipt("aa"))];
    assert.equal(blockOf(compareReceipts(answers, 2)), "0xaa");
    assert.deepEqual(compareReceipts(answers, 2).others, [0]);
    const dear = { ...receipt("aa"), gasUsed: "0xffffff" };
    const paid = [answersOf(dear), answersOf(receipt("aa")), answersOf(receipt("aa"))];
    const { found, others } = compareReceipts(paid, 2);
    assert.ok(typeof found !== "string" && found.paid === 32n);
    assert.deepEqual(others, [0]);
  });

  test("returns `unknown` if only one of two endpoints has a receipt", () => {
    assert.equal(
      blockOf(compareReceipts([answersOf(receipt("aa")), answersOf(null)], 2)),
      "unknown",
    );
    assert.equal(blockOf(compareReceipts([answersOf(receipt("aa")), undefined], 2)), "unknown");
  });

  test("returns `absent` if two of three endpoints have no receipt", () => {
    for (const third of [failed, undefined, answersOf(receipt("aa"))]) {
      assert.equal(
        blockOf(compareReceipts([answersOf(null), third, answersOf(null)], 2)),
        "absent",
      );
    }
  });

  test("returns `absent` only if a quorum of endpoints says that no receipt exists", () => {
    assert.equal(blockOf(compareReceipts([answersOf(null), answersOf(null)], 2)), "absent");
    assert.equal(blockOf(compareReceipts([answersOf(null), undefined], 2)), "unknown");
    assert.equal(blockOf(compareReceipts([answersOf(null), failed], 2)), "unknown");
    assert.equal(blockOf(compareReceipts([], 1)), "unknown");
  });

  test("returns the receipt that a quorum reports, even for a replacement transaction", () => {
    const answers = [
      answersOf(null, receipt("aa")),
      answersOf(null, receipt("aa")),
      answersOf(null, null),
    ];
    assert.equal(blockOf(compareReceipts(answers, 2)), "0xaa");
    assert.equal(blockOf(compareReceipts([answersOf(receipt("cc"))], 1)), "0xcc");
  });
});

describe("describeReceipts", () => {
  test("names each endpoint that returns a receipt, and its receipt", () => {
    const answers = [answersOf(receipt("aa")), answersOf(null), answersOf(receipt("bb", "0x0"))];
    const { receipts } = compareReceipts(answers, 2);
    const at = (block: string) => `0x11 in block 5 (0x${block.repeat(32)})`;
    assert.equal(
      describeReceipts(receipts, (place) => `node${place}`),
      `node0 returns ${at("aa")}, succeeded, 16 gas, 32 wei, 0 logs; ` +
        `node2 returns ${at("bb")}, reverted, 16 gas, 32 wei, 0 logs`,
    );
  });
});

describe("the final block on a chain that supports the tag `finalized`", () => {
  const blockAt = (number: number) => {
    const [hash, parentHash] = [`0x${"05".repeat(32)}`, `0x${"04".repeat(32)}`];
    const limits = { gasLimit: "0x1c9c380", baseFeePerGas: "0x1" };
    return { number: toQuantity(number), hash, parentHash, timestamp: "0x64", ...limits };
  };
  const head: Block = readBlock(blockAt(1000));
  const chain = { confirmations: 65, finality: "finalized" } as const;
  /**
   * Returns the final block. `shown` has the finalized block of each endpoint, or undefined if the
   * endpoint fails.
   */
  const finalBy = (shown: readonly (number | undefined)[], quorum: number) =>
    readFinalBlock(
      {
        head,
        quorum,
        readEach: async () =>
          shown.map((number) => (number === undefined ? undefined : answersOf(blockAt(number)))),
      },
      chain,
    );

  test("is not affected if one of three endpoints lies or fails", async () => {
    for (const lie of [999_999, 0, 1, undefined]) {
      assert.equal(await finalBy([lie, 930, 930], 2), 930);
      assert.equal(await finalBy([930, lie, 930], 2), 930);
    }
  });

  test("is the lower of two reported blocks", async () => {
    assert.equal(await finalBy([999_999, 930], 2), 930);
  });

  test("is found by counting confirmations if two of three nodes fail", async () => {
    assert.equal(await finalBy([999_999, undefined, undefined], 2), 1000 - 65);
  });

  test("control: the report of the only endpoint is used unchanged", async () => {
    assert.equal(await finalBy([990], 1), 990);
  });
});
