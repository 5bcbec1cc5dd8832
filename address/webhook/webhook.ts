// `executable-address/webhook`: verifies the signature of a delivery (Standard Webhooks 1.0). Also
// proves the event with the receiver's own nodes.

import { WebhookError } from "../client/errors.ts";
import type { ServiceEvent } from "../client/lists.ts";
import { publicKeyPrefix, secretPrefix } from "../client/webhook-keys.ts";
import { describeLength, describeValue, refuseUnknown } from "../errors.ts";

export { WebhookError } from "../client/errors.ts";
export {
  type EventType,
  eventTypes,
  type Payment,
  type PaymentNews,
  type ServiceEvent,
  type TestEvent,
} from "../client/lists.ts";
export { ProofError, type ProofErrorCode } from "../proof/error.ts";
export { type ProvedEvent, type ProveEventOptions, proveEvent } from "./prove-event.ts";

type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type WebhookOptions = {
  /**
   * The endpoint's secret (`whsec_…`), which verifies `v1` signatures. During a rotation, pass the
   * old and the new secret.
   */
  readonly secret?: string | readonly string[];
  /**
   * The service's public key (`whpk_…`), which verifies `v1a` signatures. Pass this key instead of
   * a secret.
   */
  readonly publicKey?: string | readonly string[];
  /** The maximum difference between the signature's time and now, at least 0. Default 300. */
  readonly toleranceSeconds?: number;
  /** The time to compare with, in Unix milliseconds. Default: the current time. */
  readonly now?: number;
};

/**
 * Verifies a delivery and returns its event. The signature proves only who sent the event. Use
 * {@link proveEvent} before you act on the event.
 *
 * @param body the unchanged bytes or text of the request
 * @throws {WebhookError} if no signature is valid, the delivery's time is too far from `now`, or
 *   the delivery is malformed
 * @throws {TypeError} that names the invalid option; the message never contains a secret
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeaderSource,
  options: WebhookOptions,
): Promise<ServiceEvent> {
  refuseUnknown(options, { secret: 1, publicKey: 1, toleranceSeconds: 1, now: 1 }, "option");
  const { secret, publicKey, toleranceSeconds = 300, now = Date.now() } = options;
  if ((secret === undefined) === (publicKey === undefined))
    throw new TypeError(
      `expected a secret or a publicKey, found ${secret === undefined ? "neither" : "both"}`,
    );
  // A comparison with NaN is always false, so NaN would disable the protection against replays.
  for (const [name, value] of Object.entries({ toleranceSeconds, now }))
    if (!Number.isFinite(value) || value < 0)
      throw new TypeError(
        `${name}: expected a finite number of at least 0, found ${describeValue(value)}`,
      );
  const keys =
    publicKey === undefined
      ? parseKeys("secret", secret, secretPrefix, (bytes) => bytes > 0)
      : parseKeys("publicKey", publicKey, publicKeyPrefix, (bytes) => bytes === 32);
  const id = readHeader(headers, "webhook-id");
  const timestamp = readHeader(headers, "webhook-timestamp");
  if (!/^[1-9][0-9]{0,11}$/.test(timestamp))
    throw new WebhookError(
      `webhook-timestamp: expected seconds, found ${describeValue(timestamp)}`,
    );
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookError(
      `webhook-timestamp: expected a time within ${toleranceSeconds} s of now, found ${timestamp}`,
    );
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const content = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const signatures = readHeader(headers, "webhook-signature").split(" ").slice(0, 10);
  const isValid =
    publicKey === undefined
      ? await isHmac(content, signatures, keys)
      : await isEd25519(content, signatures, keys);
  if (!isValid) {
    const key = publicKey === undefined ? "secret" : "publicKey";
    throw new WebhookError(
      `webhook-signature: expected a signature that matches the ${key}, found none among ` +
        signatures.length,
    );
  }
  const event = parse(text);
  if (event?.id !== id)
    throw new WebhookError(
      `id: expected the webhook-id ${describeValue(id)}, found ${describeValue(event?.id)}`,
    );
  return event;
}

function parse(text: string): ServiceEvent | undefined {
  try {
    return JSON.parse(text) as ServiceEvent;
  } catch {
    throw new WebhookError(`expected a body of JSON, found ${describeLength(text)}`);
  }
}

function readHeader(headers: HeaderSource, name: string): string {
  const value =
    typeof (headers as Headers).get === "function"
      ? (headers as Headers).get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value === "string" && value !== "") return value;
  throw new WebhookError(`${name}: expected one header, found ${describeLength(value)}`);
}

async function isHmac(content: Bytes, signatures: string[], secrets: readonly Bytes[]) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  for (const bytes of secrets) {
    const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
    for (const signature of readSignatures(signatures, "v1")) {
      if (await crypto.subtle.verify("HMAC", key, signature, content)) return true;
    }
  }
  return false;
}

async function isEd25519(content: Bytes, signatures: string[], publicKeys: readonly Bytes[]) {
  for (const bytes of publicKeys) {
    const key = await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
    for (const signature of readSignatures(signatures, "v1a")) {
      if (await crypto.subtle.verify("Ed25519", key, signature, content)) return true;
    }
  }
  return false;
}

type Bytes = Uint8Array<ArrayBuffer>;

const readSignatures = (signatures: string[], version: string): Bytes[] =>
  signatures.flatMap((signature) => {
    const [found, text = ""] = signature.split(",");
    return found === version ? (base64(text) ?? []) : [];
  });

/** @throws {TypeError} that names the option, but contains no key */
function parseKeys(
  name: string,
  value: string | readonly string[] | undefined,
  prefix: string,
  isLength: (bytes: number) => boolean,
): Bytes[] {
  const keys = [value ?? []].flat();
  if (keys.length === 0) throw new TypeError(`${name}: expected at least one, found none`);
  return keys.map((text) => {
    const isKey = typeof text === "string" && text.startsWith(prefix);
    const bytes = isKey ? base64(text.slice(prefix.length)) : undefined;
    if (bytes && isLength(bytes.length)) return bytes;
    throw new TypeError(`${name}: expected ${prefix} and base64, found ${describeLength(text)}`);
  });
}

function base64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}
