// Waiting for SQLite's write lock, in a thread that may sleep. SQLite's own waiting sleeps longer
// each time, up to 100 ms, and past the moment the lock is free.

const busyMsMax = 5000;
const retryMs = 1;
const clock = new Int32Array(new SharedArrayBuffer(4));

/** The thread does nothing else meanwhile. */
export function sleep(ms: number): void {
  if (ms > 0) Atomics.wait(clock, 0, 0, ms);
}

/** Calls `act` again while others have the lock, for 5 s. @returns its result */
export function patiently<Result>(act: () => Result): Result {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    try {
      return act();
    } catch (error) {
      const { code } = error as { code?: string };
      if (!code?.startsWith("SQLITE_BUSY") || waitedMs >= busyMsMax) throw error;
    }
    sleep(retryMs);
  }
}
