// Creates and checks addresses, and reports mistaken payments. Derives the address from the
// requested intent, and does not trust the service's answer.

import { formatAddress } from "../abi/checksum.ts";
import { deriveAddress } from "../derive.ts";
import { describeValue, refuseUnknown } from "../errors.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeNewIntent } from "../intent/new-intent.ts";
import { makeRecord } from "../record.ts";
import { fits, hash } from "../shape.ts";
import { type SentMoney, sentMoney } from "../status/sent.ts";
import { expectAddress, proveRecord, shaped } from "./answers.ts";
import type { Call, CallOptions } from "./call.ts";
import { type Check, check } from "./check.ts";
import { ClientError, UnprovenError } from "./errors.ts";
import type { Settings, Trust } from "./options.ts";
import { send, writeQuery } from "./request.ts";

/**
 * The intent of a new address. By default, the salt is random or depends on the reference ({@link
 * CreateOptions}).
 */
export type NewIntent = Omit<Intent, "salt"> & { readonly salt?: Hex };

/**
 * `reference`: your own ID for the address, 1 to 128 printable characters. With an API key, the
 * service derives a missing salt from the reference. A repeated call then returns the same address.
 * To know the address before the service answers, pass a salt from `saltFor` in the intent.
 *
 * `again`: allows a reference that another address already has. If `again` is true and the intent
 * has no salt, the salt is random.
 *
 * `signature`: the result of `signatureFor`. Required if the client ID requires signatures.
 */
export type CreateOptions = CallOptions & {
  readonly reference?: string;
  readonly again?: boolean;
  readonly signature?: Hex;
};

/** Implements `Client.create`. */
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
  // If the client has an API key, the service derives a missing salt from the reference.
  const isSaltMade = reference !== undefined && !again && intent.salt === undefined;
  if (isSaltMade && "Authorization" in credential) {
    // The client cannot derive the salt, because it does not have the account's reference key.
    const { salt: _, ...requested } = encodeNewIntent(intent, trust).intent;
    return proveSalted(await submit(settings, call, path, requested), requested, trust);
  }
  return submitSalted(settings, call, path, intent, (answer, address) =>
    proveRecord(answer, address, trust),
  );
}

/** Implements `Client.check`. */
export function checkIntent(settings: Settings, call: Call, intent: NewIntent): Promise<Check> {
  return submitSalted(settings, call, "/address/check", intent, (answer, address) =>
    proveCheck(answer, address, settings.trust),
  );
}

/**
 * Posts an intent, and returns the service's answer after `prove` has checked it. If the intent has
 * no salt, generates one.
 */
async function submitSalted<T>(
  settings: Settings,
  call: Call,
  path: string,
  intent: NewIntent,
  prove: (answer: unknown, address: Hex) => T,
): Promise<T> {
  const { trust } = settings;
  // The client generates the salt, so that a retry creates the same address.
  const { intent: requested, terms } = encodeNewIntent(intent, trust);
  const address = formatAddress(deriveAddress(terms, trust), trust.keccak);
  try {
    return prove(await submit(settings, call, path, requested), address);
  } catch (error) {
    if (error instanceof ClientError) error.intent = requested;
    throw error;
  }
}

function submit({ credential }: Settings, call: Call, path: string, intent: object) {
  const { transport, signal } = call;
  const headers = { "Content-Type": "application/json", ...credential };
  return send(transport, { method: "POST", path, headers, body: JSON.stringify(intent), signal });
}

/**
 * Verifies the record of an intent whose salt the service computed.
 * @throws {UnprovenError}
 */
function proveSalted(
  answer: unknown,
  requested: Omit<Intent, "salt">,
  trust: Trust,
): AddressRecord {
  const salt = (answer as { intent?: { salt?: unknown } } | null)?.intent?.salt;
  if (!fits(hash, salt))
    throw new UnprovenError(`salt: expected 32 bytes of hex, found ${describeValue(salt)}`);
  const { address } = makeRecord({ ...requested, salt }, trust);
  return proveRecord(answer, address, trust);
}

/** @throws {UnprovenError} */
function proveCheck(answer: unknown, address: Hex, trust: Trust): Check {
  const found = shaped(check, answer, "check");
  proveRecord(found.record, address, trust);
  expectAddress(found.simulation, address);
  return found;
}

/** A token's contract, or the hash of a transaction on the chain of the intent. */
export type SentQuery = { readonly token: Hex } | { readonly transactionHash: Hex };

/** @throws {UnprovenError} if the answer is about a different address */
export async function reportSent(
  { transport, signal }: Call,
  requested: Hex,
  query: SentQuery,
): Promise<SentMoney> {
  refuseUnknown(query, { token: 1, transactionHash: 1 }, "field");
  const path = `/address/${requested}/sent`;
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify(query);
  const answer = await send(transport, { method: "POST", path, headers, body, signal });
  return expectAddress(shaped(sentMoney, answer, "report"), requested);
}
