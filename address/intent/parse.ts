// From anything at all to an intent, or to every fault it has. The rules are spec/terms.md §1. One
// walk both checks and encodes, so an intent that passes is one that has terms, of a fit length.

import { cacheOf } from "../abi/cache.ts";
import type { AbiFunction } from "../abi/type.ts";
import { withWriter } from "../abi/writer.ts";
import { parseFactory } from "../derive.ts";
import { type Fault, InvalidError, type Issue, noFaults, throwFaults } from "../errors.ts";
import { type Keccak, keccakOf } from "../keccak/keccak.ts";
import { readFields } from "./fields.ts";
import type { Hex, Intent } from "./intent.ts";
import { writeIntent } from "./write.ts";

export type TermsOptions = {
  /** The factory that must not be `recovery`. Any letter case; default {@link factoryAddress}. */
  readonly factory?: Hex;
  readonly keccak?: Keccak;
};

/**
 * The intent that `value` is, by the rules that are frozen: spec/terms.md §1.
 *
 * @returns a copy, addresses in EIP-55 case and other hex in lower case
 * @throws {InvalidError} with every fault found, up to 100
 */
export function parseIntent(value: unknown, options: TermsOptions = {}): Intent {
  return useIntent(value, options, (intent) => intent);
}

/** Rules for new intents only, which `new-intent.ts` adds. */
type AsNew = {
  readonly drawSalt: () => Hex;
  readonly cautionsOf: (found: AbiFunction) => readonly Fault[];
  readonly check: ((fields: Partial<Intent>) => readonly Issue[]) | undefined;
};

/** Gives what `use` makes of the intent and of its terms, which it must not keep. */
export function useIntent<T>(
  value: unknown,
  options: TermsOptions,
  use: (intent: Intent, terms: Uint8Array) => T,
  asNew?: AsNew,
): T {
  const keccak = keccakOf(options);
  const trusted = parseFactory(options.factory, keccak);
  const faults = noFaults();
  const raw = readFields(faults, value, asNew?.drawSalt);
  if (!raw) throw new InvalidError(faults.issues);
  return withWriter((writer) => {
    const { cautionsOf } = asNew ?? {};
    const context = { faults, writer, cache: cacheOf(keccak), cautionsOf };
    const fields = writeIntent(context, raw, trusted);
    for (const issue of asNew?.check?.(fields) ?? []) faults.issues.push(issue);
    throwFaults(faults);
    return use(fields as Intent, writer.bytes.subarray(0, writer.at));
  });
}
