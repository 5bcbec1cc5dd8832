// The writing thread of SQLite, as the answering thread sees it: records go over in groups, several
// groups may be on their way, and answers come back in the order of the groups. The writing thread
// commits all groups that have reached it in one transaction (write-worker.ts).

import { Worker } from "node:worker_threads";
import { together } from "../flow/together.ts";
import { pack } from "./packed.ts";
import { type NewRecord, otherTerms, type Saved, UnavailableError } from "./store.ts";
import type { Answer, Group } from "./write-worker.ts";

export type RecordWriter = {
  /**
   * Resolves when the row is durable.
   * @throws {UnavailableError}
   * @throws {CorruptError}
   */
  save(row: NewRecord): Promise<void>;
  /** From here on every save fails, those under way included. */
  stopAcknowledging(error: unknown): void;
  /** @throws {UnavailableError} after a fault that only a restart mends */
  assertAcknowledging(): void;
  /** Finishes what was begun. */
  stop(): Promise<void>;
};

/** A group of this size leaves at once: the writing thread starts while requests are still read. */
const groupSizeMax = 16;

type Sent = { settle(answer: Answer): void; fail(error: unknown): void };

export function startRecordWriter(file: string): RecordWriter {
  const worker = new Worker(new URL("./write-worker.ts", import.meta.url), {
    workerData: { file },
    execArgv: [], // those of the program may not fit a worker
  });
  const sent: Sent[] = [];
  let failure: unknown;

  const stopAcknowledging = (error: unknown) => {
    failure ??= error;
  };
  const assertAcknowledging = () => {
    if (failure) throw unavailable(`no write is acknowledged since: ${failure}`, failure);
  };
  const settled = (rows: NewRecord[], answer: Answer): Saved[] => {
    if ("failure" in answer) {
      if (isFatal(answer.failure)) stopAcknowledging(`${answer.failure}: ${answer.message}`);
      throw unavailable(`not committed: ${answer.failure}`, answer.message);
    }
    assertAcknowledging();
    const others = new Set(answer.others);
    return rows.map(({ address }, index) => (others.has(index) ? otherTerms(address) : undefined));
  };
  const send = async (rows: NewRecord[]): Promise<Saved[]> => {
    assertAcknowledging();
    const group = groupOf(rows);
    worker.ref(); // an answer is due: the program does not end before it
    worker.postMessage(group, [group.records.bytes]);
    const answer = await new Promise<Answer>((settle, fail) => sent.push({ settle, fail }));
    return settled(rows, answer);
  };
  const save = together<NewRecord, void>(send, {
    sizeMax: groupSizeMax,
    runningMax: Number.POSITIVE_INFINITY,
  });

  worker.on("message", (answers: Answer[]) => {
    for (const answer of answers) sent.shift()?.settle(answer);
    if (sent.length === 0) worker.unref();
  });
  worker.on("error", stopAcknowledging);
  worker.unref(); // after `on`, which keeps the process alive for messages
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      stopAcknowledging(new Error("the writing thread has ended"));
      for (const { fail } of sent.splice(0)) {
        fail(unavailable(`the writing thread has ended: ${failure}`, failure));
      }
      resolve();
    });
  });

  return {
    save,
    stopAcknowledging,
    assertAcknowledging,
    async stop() {
      await save.idle();
      worker.ref();
      worker.postMessage("stop");
      await ended;
    },
  };
}

const unavailable = (message: string, cause: unknown) => new UnavailableError(message, { cause });

function groupOf(rows: NewRecord[]): Group {
  return {
    accountIds: rows.map((row) => row.accountId),
    areClientIds: Uint8Array.from(rows, (row) => (row.isClientId ? 1 : 0)),
    createdAtMs: Float64Array.from(rows, (row) => row.createdAtMs),
    records: pack(rows),
  };
}

/**
 * After a failed fsync the kernel may report the next one as good with pages lost, so nothing is
 * acknowledged again until a restart has read the file anew. A full disk rolls back cleanly.
 */
function isFatal(code: string): boolean {
  if (code === "SQLITE_IOERR_SHMSIZE") return false; // no room for the index of the log
  return code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}
