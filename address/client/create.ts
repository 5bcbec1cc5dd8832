// Creates and checks addresses. The address of an answer is derived here from what was asked for.

import { formatAddress } from "../abi/checksum.ts";
import { deriveAddress } from "../derive.ts";
import { describeValue } from "../errors.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeNewIntent } from "../intent/new-intent.ts";
import { makeRecord } from "../record.ts";
import { ofAddress, proveRecord, shaped } from "./answers.ts";
import type { Call, CallOptions } from "./call.ts";
import { type Check, check } from "./check.ts";
import { ClientError, UnprovenError } from "./errors.ts";
import type { Settings, Trust } from "./options.ts";
import { send, writeQuery } from "./request.ts";

/** An intent to create; without a salt, a random one is drawn. */
export type NewIntent = Omit<Intent, "salt"> & { readonly salt?: Hex };

/**
 * `reference`: what the account calls the address, 1 to 128 printable characters. With an API key
 * it makes the salt of an intent without one, so that a repeat gives the same address; with the
 * salt of `saltFor` the address is known before the service has answered. `again`: the reference of
 * another address is meant to be used once more. `signature`: of `signatureFor`, for a
 * client ID that is bound to what the account's server signs.
 */
export type CreateOptions = CallOptions & {
  readonly reference?: string;
  readonly again?: boolean;
  readonly signature?: Hex;
};

/** Creates the address of an intent, as `Client.create` promises. */
export async function createAddress(
  settings: Settings,
  call: Call,
  intent: NewIntent,
  options: CreateOptions = {},
): Promise<AddressRecord> {
  const { trust, credential } = settings;
  const { reference, signature, again } = options;
  const query = writeQuery({ reference, signature, again: again ? "true" : undefined });
  const path = `/address/create${query}`;
  // A server's reference makes the salt of an intent without one.
  const isSaltMade = reference !== undefined && !again && intent.salt === undefined;
  if (isSaltMade && "Authorization" in credential) {
    // The salt is the service's, which knows the account's reference key.
    const { salt: _, ...wanted } = encodeNewIntent(intent, trust).intent;
    return proveSalted(await submit(settings, call, path, wanted), wanted, trust);
  }
  return submitSalted(settings, call, path, intent, (answer, address) =>
    proveRecord(answer, address, trust),
  );
}

/** Checks an intent, as `Client.check` promises. */
export function checkIntent(settings: Settings, call: Call, intent: NewIntent): Promise<Check> {
  return submitSalted(settings, call, "/address/check", intent, (answer, address) =>
    proveCheck(answer, address, settings.trust),
  );
}

/** Posts an intent with a salt, and returns what `prove` makes of the answer. */
async function submitSalted<T>(
  settings: Settings,
  call: Call,
  path: string,
  intent: NewIntent,
  prove: (answer: unknown, address: Hex) => T,
): Promise<T> {
  const { trust } = settings;
  // The salt is drawn here and not by the service, so that sending it again is the same address.
  const { intent: wanted, terms } = encodeNewIntent(intent, trust);
  const address = formatAddress(deriveAddress(terms, trust), trust.keccak);
  try {
    return prove(await submit(settings, call, path, wanted), address);
  } catch (error) {
    if (error instanceof ClientError) error.intent = wanted;
    throw error;
  }
}

function submit({ credential }: Settings, call: Call, path: string, intent: object) {
  const { transport, signal } = call;
  const headers = { "Content-Type": "application/json", ...credential };
  return send(transport, { method: "POST", path, headers, body: JSON.stringify(intent), signal });
}

/** The record of `wanted` with a salt that the service made. @throws {UnprovenError} */
function proveSalted(answer: unknown, wanted: Omit<Intent, "salt">, trust: Trust): AddressRecord {
  const salt = (answer as { intent?: { salt?: Hex } } | null)?.intent?.salt;
  if (typeof salt !== "string" || !/^0x[0-9a-f]{64}$/.test(salt))
    throw new UnprovenError(`salt: expected 32 bytes of hex, found ${describeValue(salt)}`);
  const { address } = makeRecord({ ...wanted, salt }, trust);
  return proveRecord(answer, address, trust);
}

/** @throws {UnprovenError} */
function proveCheck(answer: unknown, address: Hex, trust: Trust): Check {
  const found = shaped(check, answer, "check");
  proveRecord(found.record, address, trust);
  ofAddress(found.simulation, address);
  return found;
}
