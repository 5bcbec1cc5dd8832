// The service as a process of its own: waited for, and ended.

import type { ChildProcess } from "node:child_process";

/** Waits until `url` answers with success: false when `child` ended before it did. */
export async function isAnswering(url: string, child: ChildProcess): Promise<boolean> {
  while (!hasEnded(child)) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return true;
    await new Promise((next) => setTimeout(next, 50));
  }
  return false;
}

/** Resolves when `child` is gone. One that ended before is left alone. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode !== null || signalCode !== null;
