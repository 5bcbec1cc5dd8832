// Decides whether any input satisfies a condition. One query to Z3 covers all possible inputs.
// Before a test asks Z3, it tries a few hundred example inputs. They detect almost all wrong bytes
// faster than Z3 (bytes.long.test.ts prints both times).

import { init, killThreads } from "z3-solver";
import type { Case } from "./machine.ts";
import { type Bool, chooseByte, less, smtBool, smtWord, type Word } from "./terms.ts";

type Prover = {
  /** Returns whether any input satisfies `condition`. Throws if the solver cannot decide. */
  satisfiable(condition: Bool): Promise<boolean>;
  /** Ends the solver's threads, which would keep the process alive. */
  close(): Promise<void>;
};

export async function openProver(): Promise<Prover> {
  const { Context, em } = await init();
  const { Solver } = Context("main");
  /**
   * Caches the answer for each condition, because many changed bytes result in the same condition.
   */
  const answers = new Map<string, boolean>();
  return {
    async satisfiable(condition) {
      if (typeof condition === "boolean") return condition;
      const text = smtBool(condition);
      const known = answers.get(text);
      if (known !== undefined) return known;
      const solver = new Solver("QF_UFBV");
      try {
        // Does not use Z3's eval_smtlib2_string. Its thread reads the text after the caller has
        // freed it.
        solver.fromString(`${declarations}(assert ${text})`);
        const answer = await solver.check();
        if (answer === "unknown") throw new Error(`z3: ${solver.reasonUnknown()}`);
        answers.set(text, answer === "sat");
        return answer === "sat";
      } finally {
        // Frees the solver now. If the garbage collector freed it later, Z3's thread could be using
        // the same memory. The thread would then fail or never end.
        solver.release();
      }
    },
    close: () => killThreads(em),
  };
}

/** Free variables and their upper bounds (exclusive). */
const bounds: Record<string, bigint> = {
  caller: 1n << 160n,
  self: 1n << 160n,
  value: 1n << 128n,
  gas: 1n << 64n,
  // 2^32 bytes of memory cost 3.5 * 10^13 gas, so longer data is impossible.
  callDataBytes: 1n << 32n,
  codeBytes: 1n << 32n,
  answerBytes: 1n << 32n,
};
const memoryBytesMax = 1n << 32n;

/** The declarations of the variables in {@link everything}, and the assumptions about them. */
const declarations = [
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

/**
 * Returns a case whose values are free variables, so that it represents all cases.
 * @param codeBytes the length of the code, if known
 */
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

/** Returns bytes that depend on the seed. Adjacent bytes differ. */
const someBytes = (seed: bigint, bytes: bigint) => (index: Word) =>
  (index as bigint) < bytes ? 1n + (((index as bigint) * 37n + seed) % 255n) : 0n;

/**
 * Returns example inputs. The callers are the factory, zero, and addresses similar to the
 * factory's. Each caller is combined with several data sizes.
 */
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
