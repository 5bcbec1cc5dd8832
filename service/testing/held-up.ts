import { readFileSync } from "node:fs";

/** Returns how long a process's main thread has waited for a processor. */
export function heldUpMs(pid: number): number {
  if (process.platform !== "linux") return 0;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}
