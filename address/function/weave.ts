// From what terms carry of a function back to its text: each type of the signature is followed by
// its name. What comes out is only a candidate: the caller parses it and compares.

import { typeDepthMax } from "../abi/type.ts";

type Cursor = { signature: string; at: number; names: string; nameAt: number; text: string };

/**
 * `f((address,bool)[])` and `(to,now)payments` give `f((address to, bool now)[] payments)`.
 *
 * @returns undefined where the two do not have one shape
 */
export function weave(signature: string, names: string): string | undefined {
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
