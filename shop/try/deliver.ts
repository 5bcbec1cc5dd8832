// Sends webhook deliveries as the service would, or as an attacker would.

import { createHmac } from "node:crypto";
import { secretPrefix } from "executable-address/client/internal";
import type { ServiceEvent } from "executable-address/webhook";

export type Spoiled = {
  /** The secret that signs the delivery instead of the endpoint's secret. */
  readonly secret?: string;
  readonly secondsAgo?: number;
  /** Returns the signature header to send instead of the valid one. */
  readonly signature?: (right: string) => string;
  /** Returns the body that is signed and sent for the event. Default: `JSON.stringify`. */
  readonly write?: (event: ServiceEvent) => string;
  /** The value of the `webhook-id` header to send instead of the event's ID. */
  readonly id?: string;
  /** The body to send instead of the signed body. */
  readonly body?: string;
};

/** The receiver's response. `status` is 0 if the receiver did not respond. */
export type Taken = { readonly status: number; readonly ms: number };

export const isTaken = ({ status }: Taken) => status >= 200 && status < 300;

const patienceMs = 5000;

/** @returns the receiver's response and latency */
export async function deliver(
  url: string,
  secret: string,
  event: ServiceEvent,
  spoiled: Spoiled = {},
): Promise<Taken> {
  const body = (spoiled.write ?? JSON.stringify)(event);
  const id = spoiled.id ?? event.id;
  const timestamp = String(Math.floor(Date.now() / 1000) - (spoiled.secondsAgo ?? 0));
  const key = Buffer.from((spoiled.secret ?? secret).slice(secretPrefix.length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const startedAtMs = performance.now();
  const status = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": spoiled.signature?.(`v1,${mac}`) ?? `v1,${mac}`,
    },
    body: spoiled.body ?? body,
    signal: AbortSignal.timeout(patienceMs),
  }).then(
    (answer) => answer.status,
    () => 0,
  );
  return { status, ms: performance.now() - startedAtMs };
}
