// Deliveries as the service sends them, and as forgers would.

import { createHmac } from "node:crypto";
import type { ServiceEvent } from "executable-address/webhook";

export type Spoiled = {
  /** Another secret than the receiver's. */
  readonly secret?: string;
  readonly secondsAgo?: number;
  /** Given the right signature, returns the header that is sent. */
  readonly signature?: (right: string) => string;
  /** Given the event, returns the body that is signed and sent; default `JSON.stringify`. */
  readonly write?: (event: ServiceEvent) => string;
  /** `webhook-id`, in place of the event's. */
  readonly id?: string;
  /** This body is sent in place of the signed one. */
  readonly body?: string;
};

/** `status` 0: no answer. */
export type Taken = { readonly status: number; readonly ms: number };

export const isTaken = ({ status }: Taken) => status >= 200 && status < 300;

const patienceMs = 5000;

/** @returns how the receiver answered, and after how long */
export async function deliver(
  url: string,
  secret: string,
  event: ServiceEvent,
  spoiled: Spoiled = {},
): Promise<Taken> {
  const body = (spoiled.write ?? JSON.stringify)(event);
  const id = spoiled.id ?? event.id;
  const timestamp = String(Math.floor(Date.now() / 1000) - (spoiled.secondsAgo ?? 0));
  const key = Buffer.from((spoiled.secret ?? secret).slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const startedAt = performance.now();
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
  return { status, ms: performance.now() - startedAt };
}
