// Starts and stops the service as a separate process.

import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const answerMsMax = 120_000;

/**
 * Waits until `url` responds successfully. Returns false if `child` exits first.
 * @throws {Error} if the URL does not respond within `answerMsMax`
 */
export async function isAnswering(url: string, child: ChildProcess): Promise<boolean> {
  const signal = AbortSignal.timeout(answerMsMax);
  let fault = "no answer";
  while (!hasEnded(child)) {
    const response = await fetch(url, { signal }).catch((error: Error) => {
      fault = String(error.cause ?? error);
    });
    if (response?.ok) return true;
    if (response) fault = `status ${response.status}`;
    if (signal.aborted) {
      throw new Error(`${url} did not answer within ${answerMsMax / 1000} s: ${fault}`);
    }
    await sleep(50);
  }
  return false;
}

/**
 * Waits until `child` prints `text` or ends, and returns everything that it has printed.
 *
 * @throws {Error} if `child` neither prints `text` nor ends within `msMax`. Before throwing, kills
 *   `child`. The error contains the last output
 */
export async function untilPrinted(
  child: ChildProcess,
  text: string,
  msMax = answerMsMax,
): Promise<string> {
  let printed = "";
  let limit: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve, reject) => {
    limit = setTimeout(() => {
      child.kill("SIGKILL");
      const wanted = JSON.stringify(text);
      const last = printed.slice(-2000);
      reject(new Error(`no ${wanted} within ${msMax / 1000} s from a child process: ${last}`));
    }, msMax);
    child.once("close", () => resolve());
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk) => {
        printed += chunk;
        if (printed.includes(text)) resolve();
      });
    }
  }).finally(() => clearTimeout(limit));
  return printed;
}

/**
 * Sends `signal` to `child`, and waits until `child` has exited. Does nothing if `child` has
 * already exited.
 */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode !== null || signalCode !== null;
