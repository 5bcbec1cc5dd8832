// Calls a browser wallet (EIP-1193) without a library. A page needs only about ten of a wallet's
// methods.

import { describeValue } from "executable-address/client/internal";
import { fromQuantity } from "executable-address/status";

export type WalletProvider = {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
};

/**
 * The reason why the wallet reported no payment. If the kind is `failed`, the wallet may still have
 * sent a payment.
 */
export type Refusal =
  | {
      kind:
        | "rejected"
        | "busy"
        | "other_chain"
        | "unknown_chain"
        | "no_account"
        | "changed"
        /** Another tab of this browser has an open request for this payment. */
        | "requested_elsewhere"
        /** The wallet's own node has not responded within {@link nodeMs}. */
        | "silent"
        /** The user has canceled on the page. */
        | "canceled";
    }
  | { kind: "poor"; held: string }
  | { kind: "no_gas"; heldWei: string; neededWei: string }
  | { kind: "refused" | "failed"; reason: string };

export class PaymentRefused extends Error {
  override name = "PaymentRefused";
  readonly refusal: Refusal;
  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.kind, { cause });
    this.refusal = refusal;
  }
}

/** The timeout for requests to a wallet's node. */
export const nodeMs = 15_000;

/**
 * Settles like `promise`. Rejects earlier if `ms` milliseconds pass or `signal` aborts. A request
 * to a wallet cannot be withdrawn, so the wallet's window stays open.
 *
 * @throws {PaymentRefused} of kind `silent` if `ms` milliseconds pass, or of kind `canceled` if
 *   `signal` aborts
 */
export function settleWithin<T>(promise: Promise<T>, signal?: AbortSignal, ms = 0): Promise<T> {
  return new Promise((resolve, reject) => {
    const refuse = (kind: "silent" | "canceled") => reject(new PaymentRefused({ kind }));
    const timer = ms > 0 ? setTimeout(() => refuse("silent"), ms) : undefined;
    const cancel = () => refuse("canceled");
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    });
  });
}

/** @throws {PaymentRefused} instead of the wallet's own error */
export async function ask<Answer>(
  provider: WalletProvider,
  method: string,
  params: readonly unknown[] = [],
): Promise<Answer> {
  try {
    return (await provider.request({ method, params })) as Answer;
  } catch (error) {
    throw readRefusal(error);
  }
}

/**
 * Calls a method that returns a JSON-RPC quantity.
 * @throws {PaymentRefused} if the response is not a quantity
 */
export async function askQuantity(
  provider: WalletProvider,
  method: string,
  params: readonly unknown[] = [],
): Promise<bigint> {
  const answer = await ask(provider, method, params);
  const found = fromQuantity(answer);
  if (found !== undefined) return found;
  const reason = `${method}: expected a number, found ${describeValue(answer)}`;
  throw new PaymentRefused({ kind: "failed", reason });
}

/**
 * The error codes of EIP-1193 and EIP-1474:
 * - The user rejected the request.
 * - Another request is already open.
 */
const rejectedCode = 4001;
const pending = -32002;

export function readRefusal(error: unknown): PaymentRefused {
  if (hasCode(error, rejectedCode)) return new PaymentRefused({ kind: "rejected" }, error);
  if (hasCode(error, pending)) return new PaymentRefused({ kind: "busy" }, error);
  return new PaymentRefused({ kind: "failed", reason: readReason(error) }, error);
}

/** Wallets nest error codes at different depths. Some wallets wrap the relevant code in `data`. */
export function hasCode(error: unknown, code: number): boolean {
  for (let at: unknown = error, depth = 0; at && depth < 8; depth++) {
    const found = at as { code?: unknown; cause?: unknown; data?: { originalError?: unknown } };
    if (found.code === code) return true;
    const inner = found.data?.originalError as { code?: unknown } | undefined;
    if (inner?.code === code) return true;
    at = found.cause;
  }
  return false;
}

const reasonMax = 200;

export const readReason = (error: unknown): string => {
  const { message, data } = (error ?? {}) as { message?: unknown; data?: { message?: unknown } };
  return `${data?.message ?? message ?? error}`.slice(0, reasonMax);
};
