// Measures how long a process waited for a processor on a machine with other work.

import { readFileSync } from "node:fs";

/**
 * Returns the time for which a process's main thread was ready to run but waited for a processor.
 */
export function heldUpMs(pid: number): number {
  if (process.platform !== "linux") return 0;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}
