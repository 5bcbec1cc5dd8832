import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import type { Answer } from "../../chain/rpc/json-rpc.ts";
import { agreeOnReceipt } from "./settle.ts";

const receipt = (block: string, status = "0x1") => ({
  transactionHash: "0x11",
  blockHash: `0x${block.repeat(32)}`,
  blockNumber: "0x5",
  status,
  gasUsed: "0x10",
  effectiveGasPrice: "0x2",
  logs: [],
});
const says = (...results: unknown[]): Answer[] => results.map((result) => ({ result }));
const failed: Answer[] = [{ error: { code: -32005, message: "limit exceeded" } }];
const blockOf = ({ found }: ReturnType<typeof agreeOnReceipt>) =>
  typeof found === "string" ? found : (found.blockHash.slice(0, 4) as Hex);

describe("agreeOnReceipt", () => {
  test("two different receipts of two endpoints: disagreement", () => {
    const status = [says(receipt("aa")), says(receipt("aa", "0x0"))];
    assert.equal(blockOf(agreeOnReceipt(status, 2)), "disagreement");
  });

  test("one that shows another receipt than two others holds up nothing, and is told", () => {
    const answers = [says(receipt("bb")), says(receipt("aa")), says(receipt("aa"))];
    assert.equal(blockOf(agreeOnReceipt(answers, 2)), "0xaa");
    assert.deepEqual(agreeOnReceipt(answers, 2).others, [0]);
    const dear = { ...receipt("aa"), gasUsed: "0xffffff" };
    const paid = [says(dear), says(receipt("aa")), says(receipt("aa"))];
    const { found, others } = agreeOnReceipt(paid, 2);
    assert.ok(typeof found !== "string" && found.paid === 32n);
    assert.deepEqual(others, [0]);
  });

  test("one endpoint's word where two are needed: unknown", () => {
    assert.equal(blockOf(agreeOnReceipt([says(receipt("aa")), says(null)], 2)), "unknown");
    assert.equal(blockOf(agreeOnReceipt([says(receipt("aa")), undefined], 2)), "unknown");
  });

  test("absent if two of three have none, whatever the third says", () => {
    for (const third of [failed, undefined, says(receipt("aa"))]) {
      assert.equal(blockOf(agreeOnReceipt([says(null), third, says(null)], 2)), "absent");
    }
  });

  test("absent only if enough endpoints answer, and have none", () => {
    assert.equal(blockOf(agreeOnReceipt([says(null), says(null)], 2)), "absent");
    assert.equal(blockOf(agreeOnReceipt([says(null), undefined], 2)), "unknown");
    assert.equal(blockOf(agreeOnReceipt([says(null), failed], 2)), "unknown");
    assert.equal(blockOf(agreeOnReceipt([], 1)), "unknown");
  });

  test("enough that say the same: that receipt, of whichever transaction was mined", () => {
    const answers = [says(null, receipt("aa")), says(null, receipt("aa")), says(null, null)];
    assert.equal(blockOf(agreeOnReceipt(answers, 2)), "0xaa");
    assert.equal(blockOf(agreeOnReceipt([says(receipt("cc"))], 1)), "0xcc");
  });
});
