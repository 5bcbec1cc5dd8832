// The errors of requests to the service. Each kind is a subclass of ClientError. Invalid input
// throws an InvalidError, which is not a ClientError.

import type { Issue } from "../errors.ts";
import type { Intent } from "../intent/intent.ts";
import type { ServiceStatus } from "../status/shape.ts";

export class ClientError extends Error {
  override readonly name: string = "ClientError";
  /**
   * The `X-Request-Id` of the response, if there was a response. The operator can find the request
   * by this ID.
   */
  requestId: string | undefined;
  /**
   * The intent of a failed create request, with its salt. A retry with this intent is safe, because
   * an intent always has the same address.
   */
  intent: Intent | undefined;
}

/** The service refused the request, or returned an unknown response (`unexpected_answer`). */
export class ServiceError extends ClientError {
  override readonly name = "ServiceError";
  /** HTTP status. */
  readonly status: number;
  /** A code of spec §7, such as `rate_limited`: at most 64 characters of `a-z`, `0-9`, and `_`. */
  readonly code: string;
  /** The well-formed issues, with the text that the service sent. */
  readonly issues: readonly Issue[];
  /** The delay that the service requested, if any. */
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
 * No complete response arrived, or the response was a redirect. The service may have processed the
 * request. You can safely repeat the call, unless it changes a webhook endpoint.
 *
 * - `unreachable`: the request failed before a response began.
 * - `interrupted`: the connection failed during the response.
 * - `timeout`: one response took longer than `timeoutMs`, or the whole call took longer than
 *   `deadlineMs`.
 * - `redirected`: the service sent a redirect. The client does not follow redirects, because
 *   credentials must not be sent to a different URL.
 */
export class NetworkError extends ClientError {
  override readonly name = "NetworkError";
  readonly kind: "unreachable" | "interrupted" | "timeout" | "redirected";

  constructor(kind: NetworkError["kind"], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}

/** The response could not be verified. `cause` contains the faults, if any. */
export class UnprovenError extends ClientError {
  override readonly name = "UnprovenError";
}

/** The address can no longer reach the requested state, or has not reached it in time. */
export class WaitError extends ClientError {
  override readonly name = "WaitError";
  /**
   * `never`: the address can never reach the requested state from its present `status`. `timeout`:
   * the address can still reach the state, but has not reached it in time.
   */
  readonly reason: "never" | "timeout";
  /** The last known status, if any. */
  readonly status: ServiceStatus | undefined;

  constructor(reason: WaitError["reason"], message: string, status: ServiceStatus | undefined) {
    super(message);
    this.reason = reason;
    this.status = status;
  }
}

/** A webhook delivery is invalid, or the chain contradicts it. Ignore its content. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}
