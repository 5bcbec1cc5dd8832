// Limits the time of asynchronous work.

/**
 * The type of a global class, such as AbortSignal. A program gets the full type from `lib: dom` or
 * `@types/node`. A program without these types gets `Shape`, which has only the fields that the
 * library uses.
 */
export type Found<Name extends string, Shape> = typeof globalThis extends {
  readonly [name in Name]: { readonly prototype: infer Platform };
}
  ? Platform
  : Shape;

export type Signal = Found<"AbortSignal", { readonly aborted: boolean; readonly reason: unknown }>;

/**
 * Waits up to `millis` milliseconds for the result of `work`. Returns the result or throws the
 * error of `work`. Returns undefined if `work` has not ended in time.
 */
export async function within<Found>(millis: number, work: Promise<Found>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), millis);
  });
  const ended = work.then(
    (found) => ({ found }),
    (error: unknown) => ({ error }),
  );
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

/**
 * Returns a signal that aborts when `caller` aborts, or after `millis`. If the timeout aborts the
 * signal, the signal's reason is the error that `late` returns.
 */
export function startBound(
  caller: Signal | undefined,
  millis: number,
  late: (millis: number) => Error,
) {
  const controller = new AbortController();
  const start = (length: number) => setTimeout(() => controller.abort(late(length)), length);
  const follow = () => controller.abort(caller?.reason);
  let timer = start(millis);
  caller?.addEventListener("abort", follow, { once: true });
  if (caller?.aborted) follow();
  return {
    signal: controller.signal as Signal,
    /** Restarts the timer with a different duration. */
    restart(length: number) {
      clearTimeout(timer);
      timer = start(length);
    },
    end() {
      clearTimeout(timer);
      caller?.removeEventListener("abort", follow);
      controller.abort();
    },
  };
}
