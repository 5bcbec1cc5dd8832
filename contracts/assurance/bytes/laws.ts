// The laws are the properties that a vault's code and its creation code must have. The laws apply
// to every caller, calldata, gas limit, and result of the called contract. For each law, a function
// returns the condition under which the code violates the law. The law is proved if no input
// satisfies this condition.

import { type Case, type Memory, type Path, run } from "./machine.ts";
import {
  add,
  all,
  and,
  any,
  type Bool,
  implies,
  less,
  not,
  same,
  sameByte,
  sub,
  type Word,
} from "./terms.ts";

/**
 * Maps the name of each law to a function that returns a condition. The condition is true if the
 * code violates the law for the input `at`. `paths` are the possible executions of the code.
 */
export type Laws = Record<string, (paths: Path[], at: Case) => Bool>;

/** The conditions under which `opcodes` violate each law. */
export const broken = (laws: Laws, opcodes: Uint8Array, at: Case): Record<string, Bool> => {
  const paths = run(opcodes, at);
  return Object.fromEntries(Object.entries(laws).map(([name, law]) => [name, law(paths, at)]));
};

/** Returns the condition under which the code takes a path for which `claim` is false. */
const unless = (paths: Path[], claim: (path: Path) => Bool): Bool =>
  any(...paths.map((path) => all(path.given, not(claim(path)))));

const addressMask = (1n << 160n) - 1n;

/** Returns the condition under which `bytes` bytes of memory at `from` equal `wanted`. */
const reads = (memory: Memory, from: Word, bytes: Word, wanted: Memory, at: Case): Bool =>
  implies(less(at.index, bytes), sameByte(memory(add(from, at.index)), wanted(at.index)));

/** The required properties of a vault's permanent code. `factory` is the vault's factory. */
export const stubLaws = (factory: bigint): Laws => {
  const isFactory = (at: Case) => same(at.caller, factory);
  return {
    "DELEGATECALL is executed only if the caller is the factory": (paths, at) =>
      unless(paths, ({ questions }) => questions.length === 0 || isFactory(at)),

    "the target of DELEGATECALL is the factory": (paths) =>
      unless(paths, ({ questions }) =>
        all(...questions.map(({ target }) => same(and(target, addressMask), factory))),
      ),

    "if the caller is the factory, STOP is never executed": (paths, at) =>
      unless(paths, ({ end }) => end !== "stop" || not(isFactory(at))),

    "if the factory calls, DELEGATECALL gets all calldata and gas, and its result is returned": (
      paths,
      at,
    ) =>
      unless(paths, (path) => {
        const [question] = path.questions;
        if (!question || path.questions.length > 1) return not(isFactory(at));
        return implies(
          isFactory(at),
          all(
            same(question.gas, at.gas),
            same(question.bytes, at.callDataBytes),
            reads(question.memory, question.at, at.callDataBytes, at.callData, at),
            handsBack(path, "return", at),
          ),
        );
      }),

    "a call by any other caller accepts native coin and does nothing else": (paths, at) =>
      unless(paths, ({ end, questions }) => (end === "stop" && !questions.length) || isFactory(at)),
  };
};

/**
 * The required properties of the code that creates a vault. This code is the first {@link
 * prefixBytes} bytes of the vault's init code. The rest of the init code is a selector and the
 * terms.
 */
export const prefixLaws: Laws = {
  "the target of DELEGATECALL is the creator": (paths, at) =>
    unless(paths, ({ questions }) =>
      all(...questions.map(({ target }) => same(and(target, addressMask), at.caller))),
    ),

  "the creator is called once, with all gas and all bytes after the prefix": (paths, at) =>
    unless(paths, ({ questions }) => {
      const [question] = questions;
      if (!question || questions.length > 1) return false;
      const follows = (i: Word) => at.code(add(prefixBytes, i));
      const bytes = sub(at.codeBytes, prefixBytes);
      return all(
        same(question.gas, at.gas),
        same(question.bytes, bytes),
        reads(question.memory, question.at, bytes, follows, at),
      );
    }),

  "if the creator succeeds, its complete return data is deployed": (paths, at) =>
    unless(paths, (path) => implies(at.succeeds, handsBack(path, "return", at))),

  "if the creator fails, the creation reverts with the creator's complete revert data": (
    paths,
    at,
  ) => unless(paths, (path) => implies(not(at.succeeds), handsBack(path, "revert", at))),
};

/**
 * The number of bytes of PREFIX that are executed. The last four bytes of PREFIX are a selector.
 * PREFIX copies the selector into the input of the DELEGATECALL, but never executes it.
 */
export const prefixBytes = 28n;

const handsBack = ({ end, at: from, bytes, memory }: Path, wanted: Path["end"], at: Case): Bool =>
  end === wanted &&
  all(same(bytes, at.answerBytes), reads(memory, from, at.answerBytes, at.answer, at));
