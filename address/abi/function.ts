// Parses functions. In an intent, a function is text such as `name(type name, type name)`. In an
// intent's encoded terms, a function consists of its signature and its parameter names. The
// signature's hash gives the selector. Each function has exactly one valid text and one valid
// encoding.

import { addFault, addFaults, type Fault, type Faults, quotedLengthMax } from "../errors.ts";
import { type AbiFunction, type Cache, remember, slotOfSignature } from "./cache.ts";
import { toHex } from "./hex.ts";
import {
  type AbiType,
  bodyBytes,
  elementaryTypes,
  listType,
  termsBytesMax,
  tupleType,
  typeDepthMax,
} from "./type.ts";

/**
 * Parses the text of a function. If the text is invalid, appends to `faults` and returns undefined.
 */
export function readFunction(faults: Faults, text: string, cache: Cache): AbiFunction | undefined {
  const known = cache.functions.get(text);
  if (known) return known;
  // spec/terms.md §1 limits the length of a function's text, which also limits the parsing time.
  if (text.length > termsBytesMax) {
    addFault(
      faults,
      "too_long",
      `expected at most ${termsBytesMax} characters, found ${text.length}`,
    );
    return undefined;
  }
  const found = parseGrammar(text);
  if (Array.isArray(found)) {
    const spelling = respell(text);
    if (spelling !== undefined)
      addFault(faults, "not_canonical", `expected the canonical form: write "${spelling}"`);
    else addFaults(faults, found);
    return undefined;
  }
  const { name, types, names } = found;
  const signature = `${name}(${types.map((type) => type.name).join(",")})`;
  const signatureBytes = ascii.encode(signature);
  const hash = cache.keccak(signatureBytes);
  const selector = toHex(hash.subarray(0, 4));
  const carried = names.join(",");
  return remember(cache.functions, text, {
    text,
    signature,
    names: carried,
    signatureBytes,
    namesBytes: ascii.encode(carried),
    selector,
    parameters: types,
    headBytes: bodyBytes(types),
  });
}

/** Returns the text of a valid function without its parameter names: `tip(address, uint256)`. */
export const typesOf = (text: string): string => text.replaceAll(/ [\w$]+(?=[,)])/g, "");

const ascii = new TextEncoder();

/** Looks up a cached function by its bytes in the encoded terms. */
export function findFunction(
  signature: Uint8Array,
  names: Uint8Array,
  cache: Cache,
): AbiFunction | undefined {
  const known = cache.carried[slotOfSignature(signature)];
  const same =
    known && isEqual(known.signatureBytes, signature) && isEqual(known.namesBytes, names);
  return same ? known : undefined;
}

/**
 * Parses a function from its two strings in the encoded terms: `signature` and `names`. Returns
 * undefined if the strings are invalid.
 */
export function joinFunction(
  faults: Faults,
  signature: string,
  names: string,
  cache: Cache,
): AbiFunction | undefined {
  const text = weave(signature, names);
  const found = text === undefined ? undefined : readFunction(faults, text, cache);
  if (found?.signature !== signature || found.names !== names) return undefined;
  if (cache.functions.has(found.text)) cache.carried[slotOfSignature(found.signatureBytes)] = found;
  return found;
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Suggests the canonical form of an invalid function. Returns undefined if `text` is long or its
 * meaning is unclear. Uses single spaces and full type names. Omits `function`, data locations,
 * mutability, and `returns`. The suggestion is a valid function, so it contains only printable
 * ASCII.
 */
function respell(text: string): string | undefined {
  if (text.length > quotedLengthMax) return undefined;
  const spelling = cutTail(text.trim().replace(/^function\s+/, ""))
    .replace(/\btuple\s*\(/g, "(")
    .replace(/\s+/g, " ")
    .replace(/ ?([(,)[\]]) ?/g, "$1")
    .replace(/([)\]])(?=[A-Za-z_$])/g, "$1 ")
    .replace(/,/g, ", ")
    .replace(/ (memory|calldata|storage|payable|indexed)(?= )/g, "")
    .replace(/(?<=[(\s])(uint|int|byte)(?=[ [])/g, (word) => fullNames[word]!);
  return spelling !== text && !Array.isArray(parseGrammar(spelling)) ? spelling : undefined;
}

const fullNames: Readonly<Record<string, string>> = {
  uint: "uint256",
  int: "int256",
  byte: "bytes1",
};

/** Removes everything after the parameter list, for example `returns (bool)`. */
function cutTail(text: string): string {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth++;
    if (text[i] === ")" && --depth === 0) return text.slice(0, i + 1);
  }
  return text;
}

type Cursor = { signature: string; at: number; names: string; nameAt: number; text: string };

/**
 * Combines a signature and names: `f((address,bool)[])` and `(to,now)payments` become
 * `f((address to, bool now)[] payments)`.
 *
 * @returns undefined if the names do not have the same parentheses and commas as the signature
 */
function weave(signature: string, names: string): string | undefined {
  const open = signature.indexOf("(") + 1;
  if (open === 0) return undefined;
  if (signature.endsWith("()")) return names === "" ? signature : undefined;
  const cursor = { signature, at: open, names, nameAt: 0, text: signature.slice(0, open) };
  const whole =
    weaveList(cursor, 0) && cursor.at === signature.length && cursor.nameAt === names.length;
  return whole ? cursor.text : undefined;
}

/**
 * Combines the types and names of one parameter list. The cursor starts after "(" and ends after
 * ")".
 */
function weaveList(cursor: Cursor, depth: number): boolean {
  if (depth > typeDepthMax) return false;
  for (;;) {
    if (cursor.signature[cursor.at] === "(") {
      if (cursor.names[cursor.nameAt] !== "(") return false;
      cursor.at++;
      cursor.nameAt++;
      cursor.text += "(";
      if (!weaveList(cursor, depth + 1)) return false;
      if (cursor.names[cursor.nameAt++] !== ")") return false;
    }
    const type = readPart(cursor.signature, cursor.at);
    const name = readPart(cursor.names, cursor.nameAt);
    cursor.at += type.length;
    cursor.nameAt += name.length;
    const separator = cursor.signature[cursor.at++];
    if (separator === undefined) return false;
    cursor.text += `${type} ${name}${separator === "," ? ", " : ")"}`;
    if (separator === ")") return true;
    if (cursor.names[cursor.nameAt++] !== ",") return false;
  }
}

/** Returns the text from `at` to the next comma or closing parenthesis, or to the end. */
function readPart(text: string, at: number): string {
  const part = /[^,)]*/y;
  part.lastIndex = at;
  return part.exec(text)![0];
}

/**
 * `names` is written as in the encoded terms: `spender,amount`, or `(to,amount)payments` for a
 * tuple.
 */
type Grammatical = { name: string; types: AbiType[]; names: string[] };

const nameLengthMax = 64;
const example = '"approve(address spender, uint256 amount)"';

type Parser = { readonly text: string; at: number; readonly faults: Fault[] };

/** Thrown if the parser cannot continue after a fault. */
class Stuck extends Error {}

/** Parses `text`, or returns the faults that the parser found before it had to stop. */
function parseGrammar(text: string): Grammatical | Fault[] {
  const parser: Parser = { text, at: 0, faults: [] };
  try {
    const name = readName(parser, "a function name");
    expect(parser, "(", `after the function name, as in ${example}`);
    const parameters = text[parser.at] === ")" ? none(parser) : readParameters(parser, 0);
    if (parser.at < text.length)
      stuck(parser, "malformed_function", `${place(parser)}: expected nothing after ")"`);
    if (parser.faults.length === 0) return { name, ...parameters };
  } catch (error) {
    if (!(error instanceof Stuck)) throw error;
  }
  return parser.faults;
}

function none(parser: Parser): { types: AbiType[]; names: string[] } {
  parser.at++;
  return { types: [], names: [] };
}

/** Reads one or more parameters or components. The parser starts after "(" and ends after ")". */
function readParameters(parser: Parser, depth: number): { types: AbiType[]; names: string[] } {
  const types: AbiType[] = [];
  const names: string[] = [];
  const seen = new Set<string>();
  let headBytes = 0;
  for (;;) {
    const { type, inner } = readType(parser, depth);
    if (parser.text[parser.at] === "," || parser.text[parser.at] === ")")
      stuck(
        parser,
        "missing_name",
        `${place(parser)}: expected a name for every parameter, as in ${example}`,
      );
    expect(parser, " ", "between a type and its name");
    const name = readName(parser, "a parameter name");
    if (seen.has(name.toLowerCase())) {
      const message = `expected unique names, found ${name} twice (ignoring case)`;
      parser.faults.push({ code: "name_clash", message });
    }
    seen.add(name.toLowerCase());
    types.push(type);
    names.push(inner + name);
    headBytes += type.headBytes;
    if (headBytes > termsBytesMax) tooLarge(parser);
    if (parser.text[parser.at] === ")") break;
    expect(parser, ", ", "between parameters");
  }
  parser.at++;
  return { types, names };
}

/** Reads a type with its array suffixes. `inner` contains the names of a tuple's components. */
function readType(parser: Parser, depth: number): { type: AbiType; inner: string } {
  const tuple = parser.text[parser.at] === "(" ? readTuple(parser, depth) : undefined;
  let type = tuple?.type ?? readElementary(parser);
  while (parser.text[parser.at] === "[" && type.depth <= typeDepthMax)
    type = readList(parser, type);
  if (type.depth > typeDepthMax) tooDeep(parser);
  return { type, inner: tuple?.inner ?? "" };
}

function readTuple(parser: Parser, depth: number): { type: AbiType; inner: string } {
  if (depth >= typeDepthMax) tooDeep(parser);
  parser.at++;
  if (parser.text[parser.at] === ")")
    stuck(
      parser,
      "malformed_function",
      `${place(parser)}: expected at least one component in a tuple`,
    );
  const { types, names } = readParameters(parser, depth + 1);
  return { type: tupleType(types), inner: `(${names.join(",")})` };
}

/** Reads `[]` or `[n]`, where n is at least 1 and has no leading zeros. */
function readList(parser: Parser, element: AbiType): AbiType {
  const close = parser.text.indexOf("]", parser.at);
  const length = close < 0 ? "?" : parser.text.slice(parser.at + 1, close);
  if (!/^([1-9][0-9]*)?$/.test(length))
    stuck(
      parser,
      "malformed_function",
      `${place(parser)}: expected [] or a length of at least 1, as in [2]`,
    );
  if (length.length > 3) tooLarge(parser);
  parser.at = close + 1;
  const type = listType(element, length === "" ? undefined : Number(length));
  const fixedBytes = Number(length) * element.headBytes;
  if (fixedBytes > termsBytesMax) tooLarge(parser);
  return type;
}

function readElementary(parser: Parser): AbiType {
  const word = readWord(parser);
  const type = elementaryTypes.get(word);
  if (type) return type;
  if (word === "") stuck(parser, "malformed_function", `${place(parser)}: expected a type`);
  const hint =
    typeHints[word] ?? "write a contract as address, an enum as uint8, and a struct as a tuple";
  stuck(parser, "unknown_type", `expected a canonical ABI type, found ${shorten(word)}: ${hint}`);
}

const typeHints: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  uint: "write uint256",
  int: "write int256",
  byte: "write bytes1",
  tuple: "write the components in parentheses",
  function: "function types are not supported; use a function that takes bytes24",
});

function readName(parser: Parser, what: string): string {
  const start = parser.at;
  const name = readWord(parser);
  if (!/^[A-Za-z_$]/.test(name)) {
    parser.at = start;
    stuck(
      parser,
      "malformed_function",
      `${place(parser)}: expected ${what} that begins with a letter, _, or $`,
    );
  }
  if (name.length > nameLengthMax) {
    const message = `expected ${what} of at most ${nameLengthMax} characters, found ${name.length}`;
    parser.faults.push({ code: "name_too_long", message });
  }
  return name;
}

/**
 * Reads letters, digits, `_`, and `$`, and stops before any other character. The result can be
 * empty.
 */
function readWord(parser: Parser): string {
  wordCharacters.lastIndex = parser.at;
  const word = wordCharacters.exec(parser.text)![0];
  parser.at += word.length;
  return word;
}
const wordCharacters = /[A-Za-z0-9_$]*/y;

function expect(parser: Parser, wanted: string, where: string): void {
  if (!parser.text.startsWith(wanted, parser.at))
    stuck(parser, "malformed_function", `${place(parser)}: expected "${wanted}" ${where}`);
  parser.at += wanted.length;
}

const place = (parser: Parser): string => `at character ${parser.at + 1}`;

const shorten = (word: string): string => (word.length <= nameLengthMax ? word : "a long word");

function tooDeep(parser: Parser): never {
  stuck(parser, "too_deep", `expected at most ${typeDepthMax} nested arrays and tuples`);
}

function tooLarge(parser: Parser): never {
  stuck(parser, "type_too_large", `expected a type whose values fit in ${termsBytesMax} bytes`);
}

function stuck(parser: Parser, code: string, message: string): never {
  parser.faults.push({ code, message });
  throw new Stuck(code);
}
