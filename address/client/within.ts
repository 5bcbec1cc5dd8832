// Bounds how long something is waited for.

// Types of the platform. A program has them from `lib: dom` or from `@types/node`; one that has
// neither gets the fields that it may read.

export type Found<Name extends string, Shape> = typeof globalThis extends {
  readonly [name in Name]: { readonly prototype: infer Platform };
}
  ? Platform
  : Shape;

export type Signal = Found<"AbortSignal", { readonly aborted: boolean; readonly reason: unknown }>;

/** How `work` ends; undefined where it has not within `millis`, and goes on. */
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

/** A signal that comes when `caller`'s does, or after `millis` with the error that `late` makes. */
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
    /** Starts the time anew, of another length. */
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
