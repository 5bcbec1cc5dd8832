// A thread with a connection of its own to the SQLite file, as the thread that answers requests
// sees it: messages go over, and their answers come back in the same order, several together where
// the thread did their work together.

import { type Transferable, Worker } from "node:worker_threads";
import { UnavailableError } from "../store.ts";

export type Thread<Message, Answer> = {
  /** It starts with the first message, or by this. */
  start(): void;
  /**
   * @param moved what of the message moves over instead of being copied
   * @throws {UnavailableError} once the thread has ended
   */
  ask(message: Message, moved?: Transferable[]): Promise<Answer>;
  /** Sent as a message of its own: the thread ends once all before it is answered. */
  stop(): Promise<void>;
};

type Waiting<Answer> = { resolve(answer: Answer): void; reject(reason: unknown): void };

/**
 * @param module takes messages and `"stop"`, and posts arrays of answers
 * @param name for people, as in "the writing thread"
 * @param onEnd told once, of a thread that has ended, or of the error that ends it
 */
export function startThread<Message, Answer>(
  module: URL,
  { file, name, onEnd = () => {} }: { file: string; name: string; onEnd?: (cause: Error) => void },
): Thread<Message, Answer> {
  const asked: Waiting<Answer>[] = [];
  const ended = Promise.withResolvers<void>();
  let worker: Worker | undefined;
  let end: UnavailableError | undefined;

  const endBy = (cause?: unknown) => {
    if (end) return;
    end = new UnavailableError(`the ${name} thread has ended${cause ? `: ${cause}` : ""}`, {
      cause,
    });
    onEnd(end);
  };
  const startWorker = (): Worker => {
    const started = new Worker(module, {
      workerData: { file },
      execArgv: [], // those of the program may not fit a worker
    });
    started.on("message", (answers: Answer[]) => {
      for (const answer of answers) asked.shift()?.resolve(answer);
      if (asked.length === 0) started.unref();
    });
    started.on("error", endBy);
    started.unref(); // after `on`, which keeps the process alive for messages
    started.once("exit", () => {
      endBy();
      for (const { reject } of asked.splice(0)) reject(end);
      ended.resolve();
    });
    return started;
  };

  return {
    start() {
      worker ??= startWorker();
    },
    async ask(message, moved = []) {
      if (end) throw end;
      worker ??= startWorker();
      worker.postMessage(message, moved);
      worker.ref(); // an answer is due: the program does not end before it
      return new Promise((resolve, reject) => asked.push({ resolve, reject }));
    },
    async stop() {
      if (!worker) return endBy();
      worker.ref();
      worker.postMessage("stop");
      await ended.promise;
    },
  };
}
