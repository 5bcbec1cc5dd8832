// Bounds how long something is waited for.

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
