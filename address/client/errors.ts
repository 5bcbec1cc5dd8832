// The errors between a program and the service, apart from an input's own faults (InvalidError):
// each kind is a class, and ClientError is all of them.

import type { Issue } from "../errors.ts";
import type { Intent } from "../intent/intent.ts";
import type { ServiceStatus } from "../status/shape.ts";

export class ClientError extends Error {
  override readonly name: string = "ClientError";
  /** The service's `X-Request-Id`, for its operator to find the request, if an answer had one. */
  requestId: string | undefined;
  /**
   * A failed create has the intent that was sent, with its salt. Creating it again gives the same
   * address, whether the service has it by now or not.
   */
  intent: Intent | undefined;
}

/** The service refused, or answered something that is no answer of it (`unexpected_answer`). */
export class ServiceError extends ClientError {
  override readonly name = "ServiceError";
  /** HTTP status. */
  readonly status: number;
  /** A code of spec §7, such as `rate_limited`: at most 64 of `a-z`, `0-9` and `_`. */
  readonly code: string;
  /** At most 100, well-formed; their text is the service's. */
  readonly issues: readonly Issue[];
  /** Seconds the service asked to wait, if it did. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, refusal: Refusal, retryAfterSeconds?: number) {
    super(`${refusal.code}: ${refusal.message}`);
    this.status = status;
    this.code = refusal.code;
    this.issues = refusal.issues;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
export type Refusal = { code: string; message: string; issues: readonly Issue[] };

/**
 * No whole answer came. Whether the request was done is not known; repeating it does no harm.
 *
 * - `unreachable`: no connection, or none that lasted until an answer began
 * - `interrupted`: the answer broke off
 * - `timeout`: it was not whole within `timeoutMs`
 * - `redirected`: the service pointed elsewhere, and a credential is not carried there
 */
export class NetworkError extends ClientError {
  override readonly name = "NetworkError";
  readonly kind: "unreachable" | "interrupted" | "timeout" | "redirected";

  constructor(kind: NetworkError["kind"], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}

/** The service's answer does not prove itself. `cause` has the faults, if any. */
export class UnprovenError extends ClientError {
  override readonly name = "UnprovenError";
}

/** The address did not come to the state that was waited for: it never will, or not in time. */
export class WaitError extends ClientError {
  override readonly name = "WaitError";
  /** `never`: `status` shows a state that rules it out. `timeout`: it may still come. */
  readonly reason: "never" | "timeout";
  /** The last that was seen, if any was. */
  readonly status: ServiceStatus | undefined;

  constructor(reason: WaitError["reason"], message: string, status: ServiceStatus | undefined) {
    super(message);
    this.reason = reason;
    this.status = status;
  }
}

/** A delivery is not what it claims to be, or the chain says otherwise: use nothing of it. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}
