// From anything at all to an intent, or to every fault it has. The rules are spec/terms.md §1. One
// walk both checks and encodes, so an intent that passes is one that has terms, of a fit length.

import { readAddress } from "./checksum.ts";
import { factoryAddress } from "./deployment.ts";
import { InvalidError, type Issue, noFaults, throwFaults } from "./errors.ts";
import { readFields } from "./fields.ts";
import type { Hex, Intent } from "./intent.ts";
import { type Keccak, keccak256 } from "./keccak.ts";
import { type Memory, memoryOf } from "./memory.ts";
import { writeIntent } from "./write-intent.ts";
import { withWriter } from "./writer.ts";

export type ParseOptions = {
  /** The factory that must not be `recovery`. Default: {@link factoryAddress}. */
  readonly factory?: Hex;
  readonly keccak?: Keccak;
  /** Gives the salt of an intent that names none: 32 bytes of hex. Without it a salt is required. */
  readonly drawSalt?: () => Hex;
  /** Further rules, on the fields that are right by themselves; their issues are told with the rest. */
  readonly check?: (fields: Partial<Intent>) => readonly Issue[];
};

/** An intent and its terms, made in one walk. */
export type Encoded = { readonly intent: Intent; readonly terms: Uint8Array };

/**
 * The intent that `value` is.
 *
 * @returns a frozen copy, addresses in EIP-55 case and other hex in lower case
 * @throws {InvalidError} with every fault found, up to 100
 */
export function parseIntent(value: unknown, options: ParseOptions = {}): Intent {
  return encodeIntent(value, options).intent;
}

/** Intents that have passed, with their terms and what they passed under. */
const passed = new WeakMap<object, { encoded: Encoded; factory: string; memory: Memory }>();

/** {@link parseIntent} with the terms. An intent that has passed before is not walked again. */
export function encodeIntent(value: unknown, options: ParseOptions): Encoded {
  const memory = memoryOf(options.keccak ?? keccak256);
  const factory = parseFactory(options.factory ?? factoryAddress, memory);
  const known = options.check ? undefined : passed.get(value as object);
  if (known && known.factory === factory && known.memory === memory) return known.encoded;
  const faults = noFaults();
  const raw = readFields(faults, value, options.drawSalt);
  if (!raw) throw new InvalidError(faults.issues);
  const encoded = withWriter((writer) => {
    const fields = writeIntent({ faults, writer, memory }, raw, factory);
    for (const issue of options.check?.(fields) ?? []) faults.issues.push(issue);
    throwFaults(faults);
    return { intent: Object.freeze(fields as Intent), terms: writer.bytes.slice(0, writer.at) };
  });
  passed.set(encoded.intent, { encoded, factory, memory });
  return encoded;
}

/** The caller's own word, so a fault in it stands apart from the intent's. */
function parseFactory(factory: Hex, memory: Memory): Hex {
  const faults = noFaults(["factory"]);
  const address = readAddress(faults, factory, memory);
  throwFaults(faults);
  return address!.text;
}
