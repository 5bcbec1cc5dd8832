// A function as an intent spells it, `name(type name, type name)`, and as terms carry it: the
// signature, whose hash is the selector, and the names. One spelling each, and both ways.

import { type Cache, remember, slotOfSignature } from "../abi/cache.ts";
import { toHex } from "../abi/hex.ts";
import { type AbiFunction, bodyBytes, termsBytesMax, typeDepthMax } from "../abi/type.ts";
import { addFault, addFaults, type Faults, quoted } from "../errors.ts";
import { parseGrammar } from "./grammar.ts";

/** The function `text` spells, or undefined and its faults. */
export function readFunction(faults: Faults, text: string, cache: Cache): AbiFunction | undefined {
  const known = cache.functions.get(text);
  if (known) return known;
  // Its signature and its names, which terms hold, are together shorter by no more than a space.
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
      addFault(faults, "not_canonical", `not in canonical form: write ${quoted(spelling)}`);
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

const ascii = new TextEncoder();

/** The function that terms carry in these bytes, if it is one of those that recur. */
export function knownFunction(
  signature: Uint8Array,
  names: Uint8Array,
  cache: Cache,
): AbiFunction | undefined {
  const known = cache.carried[slotOfSignature(signature)];
  const same = known && isSame(known.signatureBytes, signature) && isSame(known.namesBytes, names);
  return same ? known : undefined;
}

/** The function that terms carry as `signature` and `names`, or undefined and any faults of it. */
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

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Longer text than a reader would compare is not respelled. */
const textLengthMax = 200;

/**
 * The canonical spelling of `text`, if it has one: without `function`, location, mutability and
 * `returns` words, with single spaces and with full type names.
 */
function respell(text: string): string | undefined {
  if (text.length > textLengthMax) return undefined;
  const spelling = withoutTail(text.trim().replace(/^function\s+/, ""))
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

/** `text` up to the parenthesis that closes its first one. */
function withoutTail(text: string): string {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth++;
    if (text[i] === ")" && --depth === 0) return text.slice(0, i + 1);
  }
  return text;
}

type Cursor = { signature: string; at: number; names: string; nameAt: number; text: string };

/**
 * `f((address,bool)[])` and `(to,now)payments` give `f((address to, bool now)[] payments)`.
 *
 * @returns undefined where the two do not have one shape
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

/** From after "(" to after ")". */
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
    const type = upTo(cursor.signature, cursor.at);
    const name = upTo(cursor.names, cursor.nameAt);
    cursor.at += type.length;
    cursor.nameAt += name.length;
    const separator = cursor.signature[cursor.at++];
    if (separator === undefined) return false;
    cursor.text += `${type} ${name}${separator === "," ? ", " : ")"}`;
    if (separator === ")") return true;
    if (cursor.names[cursor.nameAt++] !== ",") return false;
  }
}

/** The part of `text` from `at` to the next comma or closing parenthesis, or to its end. */
function upTo(text: string, at: number): string {
  const part = /[^,)]*/y;
  part.lastIndex = at;
  return part.exec(text)![0];
}
