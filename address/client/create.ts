// Creates and checks addresses. The address of an answer is derived here from what was asked for.

import { formatAddress } from "../abi/checksum.ts";
import { deriveAddress } from "../derive.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeNewIntent } from "../intent/new-intent.ts";
import { proveCheck, proveRecord, proveSalted } from "./answers.ts";
import type { Check } from "./check.ts";
import { ClientError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { queryOf, send } from "./request.ts";

/** An intent to create; without a salt, a random one is drawn. */
export type NewIntent = Omit<Intent, "salt"> & { readonly salt?: Hex };

export type CallOptions = { readonly signal?: AbortSignal };

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
  intent: NewIntent,
  options: CreateOptions = {},
): Promise<AddressRecord> {
  const { trust, credential } = settings;
  const { reference, signature, again } = options;
  const query = queryOf({ reference, signature, again: again ? "true" : undefined });
  const path = `/address/create${query}`;
  // A server's reference makes the salt of an intent without one.
  const isSaltMade = reference !== undefined && !again && intent.salt === undefined;
  if (isSaltMade && "Authorization" in credential) {
    // The salt is the service's, which knows the account's reference key.
    const { salt: _, ...wanted } = encodeNewIntent(intent, trust).intent;
    return proveSalted(await submit(settings, path, wanted, options), wanted, trust);
  }
  return submitSalted(settings, path, intent, options, (answer, address) =>
    proveRecord(answer, address, trust),
  );
}

/** Checks an intent, as `Client.check` promises. */
export function checkIntent(
  settings: Settings,
  intent: NewIntent,
  options: CallOptions = {},
): Promise<Check> {
  return submitSalted(settings, "/address/check", intent, options, (answer, address) =>
    proveCheck(answer, address, settings.trust),
  );
}

/** Posts an intent with a salt, and returns what `prove` makes of the answer. */
async function submitSalted<T>(
  settings: Settings,
  path: string,
  intent: NewIntent,
  options: CallOptions,
  prove: (answer: unknown, address: Hex) => T,
): Promise<T> {
  const { trust } = settings;
  // The salt is drawn here and not by the service, so that sending it again is the same address.
  const { intent: wanted, terms } = encodeNewIntent(intent, trust);
  const address = formatAddress(deriveAddress(terms, trust), trust.keccak);
  try {
    return prove(await submit(settings, path, wanted, options), address);
  } catch (error) {
    if (error instanceof ClientError) error.intent = wanted;
    throw error;
  }
}

function submit(
  { credential, transport }: Settings,
  path: string,
  intent: object,
  { signal }: CallOptions,
) {
  const headers = { "Content-Type": "application/json", ...credential };
  return send(transport, { method: "POST", path, headers, body: JSON.stringify(intent), signal });
}
