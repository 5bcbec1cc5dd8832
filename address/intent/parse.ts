// From anything at all to an intent, or to every fault it has. The rules are spec/terms.md §1. One
// walk both checks and encodes, so an intent that passes is one that has terms, of a fit length.

import { memoryOf } from "../abi/memory.ts";
import { withWriter } from "../abi/writer.ts";
import { factoryAddress } from "../deployment.ts";
import { parseFactory } from "../derive.ts";
import { InvalidError, type Issue, noFaults, throwFaults } from "../errors.ts";
import { type Keccak, keccak256 } from "../keccak/keccak.ts";
import { readFields } from "./fields.ts";
import type { Hex, Intent } from "./intent.ts";
import { writeIntent } from "./write.ts";

export type ParseOptions = {
  /** The factory that must not be `recovery`. Default: {@link factoryAddress}. */
  readonly factory?: Hex;
  readonly keccak?: Keccak;
  /** Gives the salt of an intent that names none: 32 bytes. Without it a salt is required. */
  readonly drawSalt?: () => Hex;
  /** Further rules, on the fields that are right in themselves; told with the other issues. */
  readonly check?: (fields: Partial<Intent>) => readonly Issue[];
};

/** An intent and its terms, made in one walk. */
export type Encoded = { readonly intent: Intent; readonly terms: Uint8Array };

/**
 * The intent that `value` is. Its terms are worked out with it; as long as it is the last intent
 * parsed, {@link encodeTerms} and {@link makeRecord} need not do so again.
 *
 * @returns a copy, frozen to its depth, addresses in EIP-55 case and other hex in lower case
 * @throws {InvalidError} with every fault found, up to 100
 */
export function parseIntent(value: unknown, options: ParseOptions = {}): Intent {
  const { intent, terms } = encodeIntent(value, options);
  for (const call of intent.calls) {
    Object.freeze(call.args);
    Object.freeze(call);
  }
  Object.freeze(intent.calls);
  const { factory = factoryAddress, keccak = keccak256 } = options;
  last = { intent, terms, factory, keccak };
  return Object.freeze(intent);
}

/** The last intent that {@link parseIntent} gave, with what it was parsed under. */
let last: (Encoded & { readonly factory: Hex; readonly keccak: Keccak }) | undefined;

/** {@link parseIntent} with the terms, and without the freezing. */
export function encodeIntent(value: unknown, options: ParseOptions): Encoded {
  return useIntent(value, options, (intent, terms) => ({ intent, terms: terms.slice() }));
}

/** What `use` makes of the intent and of its terms, which it must not keep. */
export function useIntent<T>(
  value: unknown,
  options: ParseOptions,
  use: (intent: Intent, terms: Uint8Array) => T,
): T {
  const { factory = factoryAddress, keccak = keccak256, check, drawSalt } = options;
  if (last && last.intent === value && last.factory === factory && last.keccak === keccak && !check)
    return use(last.intent, last.terms);
  const trusted = parseFactory(factory, keccak);
  const faults = noFaults();
  const raw = readFields(faults, value, drawSalt);
  if (!raw) throw new InvalidError(faults.issues);
  return withWriter((writer) => {
    const fields = writeIntent({ faults, writer, memory: memoryOf(keccak) }, raw, trusted);
    for (const issue of check?.(fields) ?? []) faults.issues.push(issue);
    throwFaults(faults);
    return use(fields as Intent, writer.bytes.subarray(0, writer.at));
  });
}
