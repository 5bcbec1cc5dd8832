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
  /** The maximum difference between the signature's time and now. Default 300. */
  readonly toleranceSeconds?: number;
  /** The time to compare with, in Unix milliseconds. Default: the current time. */
  readonly now?: number;
};

/**
 * Verifies a delivery and returns its event. The signature proves only who sent the event. Use
 * {@link proveEvent} before you act on the event.
 *
 * @param body the unchanged bytes or text of the request
 * @throws {WebhookError} if no signature is valid, or the delivery's time is too far from `now`
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
      ? await isHmac(content, signatures, [secret ?? []].flat())
      : await isEd25519(content, signatures, [publicKey].flat());
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

async function isHmac(content: Bytes, signatures: string[], secrets: readonly string[]) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  for (const secret of secrets) {
    const bytes = decodeKey("secret", secret, secretPrefix);
    const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
    for (const signature of readSignatures(signatures, "v1")) {
      if (await crypto.subtle.verify("HMAC", key, signature, content)) return true;
    }
  }
  return false;
}

async function isEd25519(content: Bytes, signatures: string[], publicKeys: readonly string[]) {
  for (const publicKey of publicKeys) {
    const bytes = decodeKey("publicKey", publicKey, publicKeyPrefix);
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
    try {
      return found === version ? [base64(text)] : [];
    } catch {
      return [];
    }
  });

function decodeKey(name: string, text: string, prefix: string): Bytes {
  if (typeof text === "string" && text.startsWith(prefix)) return base64(text.slice(prefix.length));
  throw new TypeError(`${name}: expected ${prefix} and base64, found ${describeLength(text)}`);
}

const base64 = (text: string): Bytes => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
