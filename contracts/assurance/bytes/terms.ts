// Defines bytes, 256-bit words, and conditions. Each value is either known or an SMT-LIB formula.
// Operations on known values are computed immediately. So the interpreter can run with concrete
// values, or with formulas for all inputs.

/** A number below 2^256, or a formula of sort (_ BitVec 256). */
export type Word = bigint | string;
/** A number below 256, or a formula of sort (_ BitVec 8). */
export type Byte = bigint | string;
export type Bool = boolean | string;

const modulus = 1n << 256n;
const wrap = (value: bigint) => ((value % modulus) + modulus) % modulus;

export const smtWord = (word: Word) => (typeof word === "bigint" ? `(_ bv${word} 256)` : word);
const smtByte = (byte: Byte) => (typeof byte === "bigint" ? `(_ bv${byte} 8)` : byte);
export const smtBool = (bool: Bool) => String(bool);

const ofWords =
  (name: string, fold: (a: bigint, b: bigint) => bigint) =>
  (a: Word, b: Word): Word =>
    typeof a === "bigint" && typeof b === "bigint"
      ? wrap(fold(a, b))
      : `(${name} ${smtWord(a)} ${smtWord(b)})`;

const plus = ofWords("bvadd", (a, b) => a + b);
const minus = ofWords("bvsub", (a, b) => a - b);

export const add = (a: Word, b: Word): Word => (a === 0n ? b : b === 0n ? a : plus(a, b));
export const sub = (a: Word, b: Word): Word => (b === 0n ? a : a === b ? 0n : minus(a, b));
export const xor = ofWords("bvxor", (a, b) => a ^ b);
export const or = ofWords("bvor", (a, b) => a | b);
export const and = ofWords("bvand", (a, b) => a & b);
export const complement = (a: Word): Word =>
  typeof a === "bigint" ? modulus - 1n - a : `(bvnot ${a})`;

export const less = (a: Word, b: Word): Bool => {
  if (typeof a === "bigint" && typeof b === "bigint") return a < b;
  return a === b || b === 0n ? false : `(bvult ${smtWord(a)} ${smtWord(b)})`;
};
const signed = (a: bigint) => BigInt.asIntN(256, a);
export const lessSigned = (a: Word, b: Word): Bool =>
  typeof a === "bigint" && typeof b === "bigint"
    ? signed(a) < signed(b)
    : `(bvslt ${smtWord(a)} ${smtWord(b)})`;
export const same = (a: Word, b: Word): Bool => {
  if (typeof a === "bigint" && typeof b === "bigint") return a === b;
  return a === b ? true : `(= ${smtWord(a)} ${smtWord(b)})`;
};
export const sameByte = (a: Byte, b: Byte): Bool => {
  if (typeof a === "bigint" && typeof b === "bigint") return a === b;
  return a === b ? true : `(= ${smtByte(a)} ${smtByte(b)})`;
};

export const not = (a: Bool): Bool => (typeof a === "boolean" ? !a : `(not ${a})`);
export function all(...bools: Bool[]): Bool {
  if (bools.includes(false)) return false;
  const open = bools.filter((bool) => bool !== true);
  return open.length === 0 ? true : open.length === 1 ? open[0]! : `(and ${open.join(" ")})`;
}
export const any = (...bools: Bool[]): Bool => not(all(...bools.map(not)));
export const implies = (a: Bool, b: Bool): Bool => any(not(a), b);

export const choose = (test: Bool, yes: Word, no: Word): Word =>
  typeof test === "boolean" ? (test ? yes : no) : `(ite ${test} ${smtWord(yes)} ${smtWord(no)})`;
export const chooseByte = (test: Bool, yes: Byte, no: Byte): Byte =>
  typeof test === "boolean" ? (test ? yes : no) : `(ite ${test} ${smtByte(yes)} ${smtByte(no)})`;
/** Converts a condition to a word, like the comparisons of the EVM. */
export const flag = (test: Bool): Word => choose(test, 1n, 0n);
