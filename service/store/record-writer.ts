// The writing thread of SQLite, as the thread that answers sees it. Records that one turn of the
// event loop brings go over together, without waiting for those before them; the writing thread
// commits whatever has come to it meanwhile at once, and answers in the order it was asked.

import { Worker } from "node:worker_threads";
import { pack } from "./packed.ts";
import { type NewRecord, type Outcome, otherTerms, UnavailableError } from "./store.ts";
import type { Answer, Group } from "./write-worker.ts";

export type RecordWriter = {
  /**
   * Resolves when the row's fate is durable.
   * @throws {UnavailableError}
   */
  save(row: NewRecord): Promise<Outcome>;
  /** Nothing is acknowledged from here on, nor what is under way. */
  stopAcknowledging(error: unknown): void;
  /** @throws {UnavailableError} after what only a restart mends */
  assertAcknowledging(): void;
  /** Finishes what was begun. */
  stop(): Promise<void>;
};

/** Sent on at once, or the writing thread would wait until a whole turn of requests is read. */
const groupSize = 16;

type Waiting = {
  row: NewRecord;
  resolve(outcome: Outcome): void;
  reject(reason: unknown): void;
};

export function startRecordWriter(file: string): RecordWriter {
  const worker = new Worker(new URL("./write-worker.ts", import.meta.url), {
    workerData: { file },
    execArgv: [], // those of the program may not fit a worker
  });
  let arriving: Waiting[] = [];
  const sent: Waiting[][] = [];
  let failure: unknown;

  const stopAcknowledging = (error: unknown) => {
    failure ??= error;
  };
  const assertAcknowledging = () => {
    if (failure) throw unavailable(`no write is acknowledged since: ${failure}`, failure);
  };
  const send = () => {
    if (arriving.length === 0) return;
    const group = groupOf(arriving);
    worker.ref(); // an answer is due: the program does not end before it
    worker.postMessage(group, [group.records.bytes]);
    sent.push(arriving);
    arriving = [];
  };
  const settle = (group: Waiting[], answer: Answer) => {
    try {
      if ("failure" in answer) {
        if (isFatal(answer.failure)) stopAcknowledging(`${answer.failure}: ${answer.message}`);
        throw unavailable(`not committed: ${answer.failure}`, answer.message);
      }
      assertAcknowledging();
      const others = new Set(answer.others);
      group.forEach(({ row, resolve }, index) => {
        resolve(others.has(index) ? otherTerms(row.address) : undefined);
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };

  worker.on("message", (answers: Answer[]) => {
    for (const answer of answers) settle(sent.shift() as Waiting[], answer);
    if (sent.length === 0) worker.unref();
  });
  worker.on("error", stopAcknowledging);
  worker.unref(); // here, since whoever listens for messages holds the program again
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      stopAcknowledging(new Error("the writing thread has ended"));
      for (const { reject } of [...sent.flat(), ...arriving]) {
        reject(unavailable(`the writing thread has ended: ${failure}`, failure));
      }
      resolve();
    });
  });

  return {
    save: (row) =>
      new Promise((resolve, reject) => {
        assertAcknowledging();
        if (arriving.length === 0) setImmediate(send);
        arriving.push({ row, resolve, reject });
        if (arriving.length >= groupSize) send();
      }),
    stopAcknowledging,
    assertAcknowledging,
    stop() {
      send();
      worker.ref();
      worker.postMessage("stop");
      return ended;
    },
  };
}

const unavailable = (message: string, cause: unknown) => new UnavailableError(message, { cause });

function groupOf(arriving: Waiting[]): Group {
  const rows = arriving.map(({ row }) => row);
  return {
    accountIds: rows.map((row) => row.accountId),
    createdAtMs: Float64Array.from(rows, (row) => row.createdAtMs),
    records: pack(rows),
  };
}

/**
 * After a failed fsync the kernel may report the next one as good with pages lost, so nothing is
 * acknowledged again until a restart has read the file anew. A full disk rolls back cleanly.
 */
function isFatal(code: string): boolean {
  return code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}
