// Starts a thread with its own connection to the SQLite file. The thread answers messages in order,
// and can answer several messages together.

import { Worker } from "node:worker_threads";
import { UnavailableError } from "../store.ts";

export type Thread<Message, Answer> = {
  /** Starts the thread now. Without this call, the thread starts with the first message. */
  start(): void;
  /**
   * Sends a message and returns its answer.
   *
   * @throws {UnavailableError} after the thread has ended
   */
  ask(message: Message): Promise<Answer>;
  /** Stops the thread after it has answered all earlier messages. */
  stop(): Promise<void>;
};

type Waiting<Answer> = { resolve(answer: Answer): void; reject(reason: unknown): void };

/**
 * @param module the thread's module. The module must handle messages and `"stop"`, and must post
 *   its answers in arrays.
 * @param name the thread's name in error messages, such as "writing"
 * @param onEnd called once, when the thread ends or fails
 */
export function startThread<Message, Answer>(
  module: URL,
  { file, name, onEnd = () => {} }: { file: string; name: string; onEnd?: (cause: Error) => void },
): Thread<Message, Answer> {
  const waiting: Waiting<Answer>[] = [];
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
      execArgv: [], // workers do not support all options of Node
    });
    started.on("message", (answers: Answer[]) => {
      for (const answer of answers) waiting.shift()?.resolve(answer);
      if (waiting.length === 0) started.unref();
    });
    started.on("error", endBy);
    started.unref(); // must be called after `on`, which undoes `unref`
    started.once("exit", () => {
      endBy();
      for (const { reject } of waiting.splice(0)) reject(end);
      ended.resolve();
    });
    return started;
  };

  return {
    start() {
      worker ??= startWorker();
    },
    async ask(message) {
      if (end) throw end;
      worker ??= startWorker();
      worker.postMessage(message);
      worker.ref(); // so that the process does not end before the answer
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    async stop() {
      if (!worker) return endBy();
      worker.ref();
      worker.postMessage("stop");
      await ended.promise;
    },
  };
}
