// The grammar of function strings: `name(type name, type name)`, in exactly one spelling.

import {
  type AbiType,
  elementaryTypes,
  listType,
  termsBytesMax,
  tupleType,
  typeDepthMax,
} from "../abi/type.ts";
import type { Fault } from "../errors.ts";

/** `names` as terms carry them: `spender,amount`, a tuple's within it as `(to,amount)payments`. */
type Grammatical = { name: string; types: AbiType[]; names: string[] };

const nameLengthMax = 64;
const example = '"approve(address spender, uint256 amount)"';

type Cursor = { readonly text: string; at: number; readonly faults: Fault[] };

/** Thrown where the grammar cannot go on; the fault is already noted. */
class Stuck extends Error {}

/** Takes `text` apart, or tells what is wrong: naming faults all, the first fault of form. */
export function parseGrammar(text: string): Grammatical | Fault[] {
  const cursor: Cursor = { text, at: 0, faults: [] };
  try {
    const name = readName(cursor, "a function name");
    expect(cursor, "(", `after the function name, as in ${example}`);
    const parameters = text[cursor.at] === ")" ? none(cursor) : readParameters(cursor, 0);
    if (cursor.at < text.length)
      stuck(cursor, "malformed_function", `${place(cursor)}: expected nothing after ")"`);
    if (cursor.faults.length === 0) return { name, ...parameters };
  } catch (error) {
    if (!(error instanceof Stuck)) throw error;
  }
  return cursor.faults;
}

function none(cursor: Cursor): { types: AbiType[]; names: string[] } {
  cursor.at++;
  return { types: [], names: [] };
}

/** One or more parameters or components, from after "(" to after ")". */
function readParameters(cursor: Cursor, depth: number): { types: AbiType[]; names: string[] } {
  const types: AbiType[] = [];
  const names: string[] = [];
  const seen = new Set<string>();
  let headBytes = 0;
  for (;;) {
    const { type, inner } = readType(cursor, depth);
    if (cursor.text[cursor.at] === "," || cursor.text[cursor.at] === ")")
      stuck(cursor, "missing_name", `${place(cursor)}: name every parameter, as in ${example}`);
    expect(cursor, " ", "between a type and its name");
    const name = readName(cursor, "a parameter name");
    if (seen.has(name.toLowerCase())) {
      const message = `two names in one list are ${name}, or differ only in letter case`;
      cursor.faults.push({ code: "name_clash", message });
    }
    seen.add(name.toLowerCase());
    types.push(type);
    names.push(inner + name);
    headBytes += type.headBytes;
    if (headBytes > termsBytesMax) tooLarge(cursor);
    if (cursor.text[cursor.at] === ")") break;
    expect(cursor, ", ", "between parameters");
  }
  cursor.at++;
  return { types, names };
}

/** A type with its array suffixes. `inner`: the names within it, if it is made of tuples. */
function readType(cursor: Cursor, depth: number): { type: AbiType; inner: string } {
  const tuple = cursor.text[cursor.at] === "(" ? readTuple(cursor, depth) : undefined;
  let type = tuple?.type ?? readElementary(cursor);
  while (cursor.text[cursor.at] === "[" && type.depth <= typeDepthMax)
    type = readList(cursor, type);
  if (type.depth > typeDepthMax) tooDeep(cursor);
  return { type, inner: tuple?.inner ?? "" };
}

function readTuple(cursor: Cursor, depth: number): { type: AbiType; inner: string } {
  if (depth >= typeDepthMax) tooDeep(cursor);
  cursor.at++;
  if (cursor.text[cursor.at] === ")")
    stuck(cursor, "malformed_function", `${place(cursor)}: a tuple has one component or more`);
  const { types, names } = readParameters(cursor, depth + 1);
  return { type: tupleType(types), inner: `(${names.join(",")})` };
}

/** At "[": `[]` or `[n]`, n from 1 and without leading zeros. */
function readList(cursor: Cursor, element: AbiType): AbiType {
  const close = cursor.text.indexOf("]", cursor.at);
  const length = close < 0 ? "?" : cursor.text.slice(cursor.at + 1, close);
  if (!/^([1-9][0-9]*)?$/.test(length))
    stuck(
      cursor,
      "malformed_function",
      `${place(cursor)}: expected [] or a length from 1, as in [2]`,
    );
  if (length.length > 3) tooLarge(cursor);
  cursor.at = close + 1;
  const type = listType(element, length === "" ? undefined : Number(length));
  const fixedBytes = Number(length) * element.headBytes;
  if (fixedBytes > termsBytesMax) tooLarge(cursor);
  return type;
}

function readElementary(cursor: Cursor): AbiType {
  const word = readWord(cursor);
  const type = elementaryTypes.get(word);
  if (type) return type;
  if (word === "") stuck(cursor, "malformed_function", `${place(cursor)}: expected a type`);
  const hint = typeHints[word] ?? "contracts are address, enums uint8, structs inline tuples";
  stuck(cursor, "unknown_type", `${shown(word)} is no canonical ABI type: ${hint}`);
}

const typeHints: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  uint: "write uint256",
  int: "write int256",
  byte: "write bytes1",
  tuple: "write a tuple as its components in parentheses",
  function: "a function is not spelled in text; use a function that takes bytes24",
});

function readName(cursor: Cursor, what: string): string {
  const start = cursor.at;
  const name = readWord(cursor);
  if (!/^[A-Za-z_$]/.test(name)) {
    cursor.at = start;
    stuck(cursor, "malformed_function", `${place(cursor)}: expected ${what} of ASCII letters`);
  }
  if (name.length > nameLengthMax) {
    const message = `${what} has at most ${nameLengthMax} characters, found ${name.length}`;
    cursor.faults.push({ code: "name_too_long", message });
  }
  return name;
}

/** Reads all characters of `[A-Za-z0-9_$]` that come next. */
function readWord(cursor: Cursor): string {
  wordCharacters.lastIndex = cursor.at;
  const word = wordCharacters.exec(cursor.text)![0];
  cursor.at += word.length;
  return word;
}
const wordCharacters = /[A-Za-z0-9_$]*/y;

function expect(cursor: Cursor, wanted: string, where: string): void {
  if (!cursor.text.startsWith(wanted, cursor.at))
    stuck(cursor, "malformed_function", `${place(cursor)}: expected "${wanted}" ${where}`);
  cursor.at += wanted.length;
}

const place = (cursor: Cursor): string => `at character ${cursor.at + 1}`;

const shown = (word: string): string => (word.length <= nameLengthMax ? word : "a long word");

function tooDeep(cursor: Cursor): never {
  stuck(cursor, "too_deep", `arrays and tuples lie at most ${typeDepthMax} deep`);
}

function tooLarge(cursor: Cursor): never {
  stuck(cursor, "type_too_large", `no value of this type fits in ${termsBytesMax} bytes`);
}

function stuck(cursor: Cursor, code: string, message: string): never {
  cursor.faults.push({ code, message });
  throw new Stuck(code);
}
