// Converts integers between text and 32-byte big-endian words. Each integer has exactly one valid
// text. Plus signs, leading zeros, exponents, hex, and minus zero are invalid.

import { addFault, describeType, type Faults, quoted } from "../errors.ts";

/** The longest 256-bit integer has 78 digits and a sign. */
const lengthMax = 80;
const canonical = /^(0|-?[1-9][0-9]*)$/;
/** The maximum number of digits for which a double can represent every integer exactly. */
const exactDigits = 15;

/** A `number` if it can represent the integer exactly, otherwise a `bigint`. */
type Integer = number | bigint;

/**
 * Parses `text` as an integer with `bits` bits. If the text is invalid, adds a fault and returns
 * undefined.
 */
export function readInteger(
  faults: Faults,
  text: unknown,
  bits: number,
  signed: boolean,
): Integer | undefined {
  if (typeof text !== "string") {
    const isWhole = Number.isSafeInteger(text) || typeof text === "bigint";
    const instead =
      isWhole && String(text).length <= lengthMax
        ? `: write "${text}"`
        : typeof text === "number" && Number.isFinite(text)
          ? `: ${baseUnits}`
          : "";
    addFault(
      faults,
      "wrong_type",
      `expected digits as a string, found ${describeType(text)}${instead}`,
    );
    return undefined;
  }
  if (text.length > lengthMax || !canonical.test(text)) {
    addSpellingFault(faults, text);
    return undefined;
  }
  const value = text.length <= exactDigits ? Number(text) : BigInt(text);
  if (bits > 53 && typeof value === "number" && (signed || value >= 0)) return value;
  const [least, most] = computeRange(bits, signed);
  if (value >= least && value <= most) return value;
  const wanted = `expected ${least} to ${most} for ${signed ? "int" : "uint"}${bits}`;
  addFault(faults, "out_of_range", `${wanted}, found ${text}`);
  return undefined;
}

/** Returns the least and the greatest integer of `bits`. */
function computeRange(bits: number, signed: boolean): [bigint, bigint] {
  const size = 1n << BigInt(signed ? bits - 1 : bits);
  return [signed ? -size : 0n, size - 1n];
}

function addSpellingFault(faults: Faults, text: string): void {
  if (text.length > lengthMax) {
    const message = `expected a decimal integer of at most ${lengthMax} characters`;
    addFault(faults, "malformed_number", `${message}, found ${text.length}`);
    return;
  }
  const found = quoted(text) ?? "other text";
  const meant = guessInteger(text);
  const code = meant === undefined ? "malformed_number" : "not_canonical";
  if (/\d\.|\.\d/.test(text)) {
    addFault(
      faults,
      code,
      `expected an integer without a decimal point, found ${found}: ${baseUnits}`,
    );
    return;
  }
  const message =
    meant === undefined
      ? `expected a decimal integer such as "1000000", found ${found}`
      : `expected the canonical form, found ${found}: write "${meant}"`;
  addFault(faults, code, message);
}

/**
 * The hint for an amount such as `25.0`. The hint does not suggest `25`, because the author may
 * mean 25 whole tokens. The parser does not know the token's decimals.
 */
const baseUnits = "amounts are in base units (one token is 10^decimals base units)";

/**
 * Guesses the intended integer of a text such as `01`, `+1`, `-0`, `0x1`, `1e3`, `1_000`, or `1.0`.
 */
function guessInteger(text: string): bigint | undefined {
  const plain = text.trim().replace(/(?<=\d)[_,](?=\d{3})/g, "");
  if (/^0x[0-9a-f]+$/i.test(plain)) return BigInt(plain);
  const parts = /^([+-]?)(\d+)(?:\.0*)?(?:e\+?(\d{1,2}))?n?$/i.exec(plain);
  if (!parts) return undefined;
  const size = BigInt(parts[2]! + "0".repeat(Number(parts[3] ?? 0)));
  return parts[1] === "-" ? -size : size;
}

/** Writes `value` to the zeroed word at `at`. A negative value is written in two's complement. */
export function writeInteger(view: DataView, at: number, value: Integer): void {
  if (typeof value === "number" && value >= 0) {
    view.setUint32(at + 24, value / 0x1_0000_0000);
    view.setUint32(at + 28, value);
    return;
  }
  const whole = BigInt.asUintN(256, BigInt(value));
  view.setBigUint64(at + 24, whole);
  if (whole >> 64n === 0n) return;
  view.setBigUint64(at, whole >> 192n);
  view.setBigUint64(at + 8, whole >> 128n);
  view.setBigUint64(at + 16, whole >> 64n);
}

/** Rounds `count` bytes up to whole words. */
export const roundUpToWords = (count: number): number => (count + 31) & ~31;

export function newView({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** Reads the unsigned integer in the word at `at`. */
export function readWord(view: DataView, at: number): bigint {
  const low = view.getBigUint64(at + 24);
  const high = (view.getBigUint64(at) << 64n) | view.getBigUint64(at + 8);
  const middle = view.getBigUint64(at + 16);
  return high === 0n && middle === 0n ? low : (high << 128n) | (middle << 64n) | low;
}

/**
 * Decodes the word at offset `at` as an integer with `bits` bits. Returns undefined if the word is
 * out of range.
 */
export function decodeInteger(
  view: DataView,
  at: number,
  bits: number,
  signed: boolean,
): Integer | undefined {
  const small = readSmall(view, at);
  if (small !== undefined && (bits > 53 || small < 2 ** (signed ? bits - 1 : bits))) return small;
  const word = readWord(view, at);
  const value = signed ? BigInt.asIntN(256, word) : word;
  const [least, most] = computeRange(bits, signed);
  return value >= least && value <= most ? value : undefined;
}

/** Reads the word at `at` if it is below 2^53, else returns undefined. */
export function readSmall(view: DataView, at: number): number | undefined {
  for (let i = 0; i < 24; i += 4) if (view.getUint32(at + i) !== 0) return undefined;
  const value = view.getUint32(at + 24) * 0x1_0000_0000 + view.getUint32(at + 28);
  return Number.isSafeInteger(value) ? value : undefined;
}
