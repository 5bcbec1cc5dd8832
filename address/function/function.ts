// A function as an intent spells it, `name(type name, type name)`, and as terms carry it: the
// signature, whose hash is the selector, and the names. One spelling each, and both ways.

import { type Cache, remember, slotOfSignature } from "../abi/cache.ts";
import { toHex } from "../abi/hex.ts";
import { type AbiFunction, bodyBytes, termsBytesMax } from "../abi/type.ts";
import { addFault, addFaults, type Faults, quoted } from "../errors.ts";
import { parseGrammar } from "./grammar.ts";
import { respell } from "./respell.ts";
import { weave } from "./weave.ts";

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
