// All cases at once, for the solver; and some hundred single ones, which refute most wrong bytes
// without it.

import type { Case } from "./laws.ts";
import { chooseByte, less, smtWord, type Word } from "./terms.ts";

/** Words that stand for anything within these bounds (exclusive). */
const bounds: Record<string, bigint> = {
  caller: 1n << 160n,
  self: 1n << 160n,
  value: 1n << 128n,
  gas: 1n << 64n,
  // What is longer, memory has no gas for: 2^32 bytes of it cost 3.5 * 10^13.
  callDataBytes: 1n << 32n,
  codeBytes: 1n << 32n,
  answerBytes: 1n << 32n,
};
const memoryBytesMax = 1n << 32n;

/** The declarations of {@link everything}, and what is assumed of its words. */
export const declarations = [
  ...["index", ...Object.keys(bounds)].map((name) => `(declare-const ${name} (_ BitVec 256))`),
  ...["callData", "code", "answer"].map(
    (name) => `(declare-fun ${name}Byte ((_ BitVec 256)) (_ BitVec 8))`,
  ),
  "(declare-const succeeds Bool)",
  ...Object.entries(bounds).map(([name, bound]) => `(assert (bvult ${name} ${smtWord(bound)}))`),
  "(assert (bvuge codeBytes (_ bv32 256)))",
].join("\n");

const unknownBytes = (name: string, bytes: Word) => (index: Word) =>
  chooseByte(less(index, bytes), `(${name}Byte ${smtWord(index)})`, 0n);

/** @param codeBytes where it is known */
export const everything = (codeBytes: Word = "codeBytes"): Case => ({
  caller: "caller",
  self: "self",
  value: "value",
  gas: "gas",
  callDataBytes: "callDataBytes",
  callData: unknownBytes("callData", "callDataBytes"),
  codeBytes,
  code: unknownBytes("code", codeBytes),
  succeeds: "succeeds",
  answerBytes: "answerBytes",
  answer: unknownBytes("answer", "answerBytes"),
  affordable: (bytes) =>
    typeof bytes === "string" && (bounds[bytes] ?? memoryBytesMax + 1n) <= memoryBytesMax
      ? true
      : less(bytes, memoryBytesMax),
  index: "index",
});

/** Bytes that differ between names and between neighbours. */
const someBytes = (seed: bigint, bytes: bigint) => (index: Word) =>
  (index as bigint) < bytes ? 1n + (((index as bigint) * 37n + seed) % 255n) : 0n;

/** Single cases, with sizes and callers at their edges. */
export function examples(factory: bigint, codeBytes?: bigint): Case[] {
  const callers = [factory, factory ^ 1n, factory ^ (1n << 159n), 0n, factory >> 8n];
  const sizes = [0n, 1n, 68n, 451n];
  return callers.flatMap((caller) =>
    sizes.flatMap((callDataBytes) =>
      sizes.flatMap((answerBytes) =>
        [0n, 1n, 40n, 450n].map((index): Case => {
          const code = codeBytes ?? 60n + callDataBytes;
          return {
            caller,
            self: 0xdeadbeefn,
            value: 5n,
            gas: 123_457n,
            callDataBytes,
            callData: someBytes(11n, callDataBytes),
            codeBytes: code,
            code: someBytes(101n, code),
            succeeds: (callDataBytes + answerBytes + index) % 2n === 0n,
            answerBytes,
            answer: someBytes(173n, answerBytes),
            affordable: (bytes) => less(bytes, memoryBytesMax),
            index,
          };
        }),
      ),
    ),
  );
}
