// Verified texts of records. A few are worked out where they are wanted; of many that come together
// the verifying thread takes its share, so that this thread is free to read requests and answer.

import { Worker } from "node:worker_threads";
import { pack } from "../store/packed.ts";
import { CorruptError } from "../store/store.ts";
import type { Parts } from "./parts.ts";
import { verifiedText } from "./verified.ts";
import type { Answer } from "./verify-worker.ts";

/** Fewer are not worth the way to the other thread and back. */
const groupMin = 5;
/** Sent on at once, or the other thread would wait until a whole turn of requests is read. */
const groupSize = 16;

export type Verifier = {
  /**
   * The body of a look-up.
   * @param address 20 bytes
   * @throws {CorruptError} where the terms do not give the address back
   */
  textOf(address: Buffer, terms: Uint8Array): Promise<string>;
  close(): Promise<unknown>;
};

type Waiting = {
  address: Buffer;
  terms: Uint8Array;
  resolve(text: string): void;
  reject(error: unknown): void;
};

export function startVerifier(parts: Pick<Parts, "factory" | "keccak" | "log">): Verifier {
  let worker: Worker | undefined;
  let hasEnded = false;
  let arriving: Waiting[] = [];
  let sent: Waiting[][] = [];

  const settle = ({ resolve, reject }: Waiting, answer: Answer) => {
    if (typeof answer === "string") return resolve(answer);
    // Errors lose their class on the way between threads.
    reject(new CorruptError(answer.message, { cause: answer.cause }));
  };
  const verifyHere = ({ address, terms, resolve, reject }: Waiting) => {
    try {
      resolve(verifiedText(address, terms, parts));
    } catch (error) {
      reject(error);
    }
  };
  const start = () => {
    const started = new Worker(new URL("./verify-worker.ts", import.meta.url), {
      workerData: { factory: parts.factory },
      execArgv: process.execArgv.filter((arg) => arg.startsWith("--conditions=")),
    });
    started.on("message", (answers: Answer[]) => {
      sent.shift()?.forEach((waiting, index) => {
        settle(waiting, answers[index] as Answer);
      });
    });
    started.on("error", (err) => {
      parts.log.error({ err }, "the verifying thread has failed; this one does its work");
    });
    started.on("exit", () => {
      hasEnded = true;
      const left = sent.flat();
      sent = [];
      for (const waiting of left) verifyHere(waiting);
    });
    started.unref(); // after `on`: whoever listens for messages holds the program
    return started;
  };
  const flush = () => {
    const group = arriving;
    arriving = [];
    if (group.length < groupMin || hasEnded) return group.forEach(verifyHere);
    worker ??= start();
    const records = pack(group);
    sent.push(group);
    worker.postMessage(records, [records.bytes]);
  };

  return {
    textOf: (address, terms) =>
      new Promise((resolve, reject) => {
        if (arriving.length === 0) setImmediate(flush);
        arriving.push({ address, terms, resolve, reject });
        if (arriving.length >= groupSize) flush();
      }),
    close: async () => worker?.terminate(),
  };
}
