// Limits how long to wait for a promise, and computes how long to wait before a retry.

/**
 * Returns the result of `promise`, or throws if it takes longer than `ms` milliseconds.
 *
 * @param late returns the error to throw; `promise` is not canceled
 */
export function within<Done>(ms: number, promise: Promise<Done>, late: () => Error): Promise<Done> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  return Promise.race([promise, end]).finally(() => clearTimeout(timer));
}

/**
 * Returns how long to wait after attempt number `attempt`, which starts at 1. The time doubles with
 * each attempt, from `first` up to `longest`. All times have the same unit.
 */
export const backoff = (attempt: number, first: number, longest: number): number =>
  Math.min(longest, first * 2 ** Math.min(attempt - 1, 30));
