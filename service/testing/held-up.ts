// Durations on a machine with other work: how much of them was waiting for a processor.

import { readFileSync } from "node:fs";

/** How long the main thread of a process was ready to run while others had the processors. */
export function heldUpMs(pid: number): number {
  if (process.platform !== "linux") return 0;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}
