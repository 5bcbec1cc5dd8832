// Bounds how long something is waited for.

/**
 * Gives what `promise` gives, if it does so in time.
 * @param late makes the error that is thrown after `ms`; `promise` itself goes on
 */
export function within<Done>(ms: number, promise: Promise<Done>, late: () => Error): Promise<Done> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  return Promise.race([promise, end]).finally(() => clearTimeout(timer));
}
