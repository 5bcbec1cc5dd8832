// The writing thread of SQLite, as the answering thread sees it: records go over in groups, several
// groups may be on their way, and answers come back in the order of the groups. The writing thread
// commits all groups that have reached it in one transaction (write-worker.ts).

import { together } from "../../flow/together.ts";
import {
  type CorruptError,
  type NewRecord,
  otherTerms,
  type SaveOutcome,
  UnavailableError,
} from "../store.ts";
import { startThread } from "./thread.ts";
import type { WriteAnswer } from "./write-worker.ts";

export type RecordWriter = {
  /**
   * Resolves once the outcome is durable.
   * @throws {UnavailableError}
   * @throws {CorruptError}
   */
  save(row: NewRecord): Promise<SaveOutcome>;
  /** Every save fails afterwards, those under way included. */
  stopAcknowledging(error: unknown): void;
  /** @throws {UnavailableError} after a fault that only a restart mends */
  assertAcknowledging(): void;
  /** Finishes what was begun. */
  stop(): Promise<void>;
};

/** A group of this size leaves at once: the writing thread starts while requests are still read. */
const groupSizeMax = 16;

export function recordWriter(file: string): RecordWriter {
  let failure: unknown;

  const stopAcknowledging = (error: unknown) => {
    failure ??= error;
  };
  const assertAcknowledging = () => {
    if (failure) throw unavailable(`no write is acknowledged since: ${failure}`, failure);
  };
  const settled = (rows: NewRecord[], answer: WriteAnswer): (SaveOutcome | CorruptError)[] => {
    if ("failure" in answer) {
      if (isFatal(answer.failure)) stopAcknowledging(`${answer.failure}: ${answer.message}`);
      throw unavailable(`not committed: ${answer.failure}`, answer.message);
    }
    assertAcknowledging();
    const outcomes: (SaveOutcome | CorruptError)[] = rows.map(() => "saved");
    for (const { index, why } of answer.exceptions) {
      outcomes[index] = why === "other_terms" ? otherTerms(rows[index]!.address) : why;
    }
    return outcomes;
  };
  const thread = startThread<NewRecord[], WriteAnswer>(
    new URL("./write-worker.ts", import.meta.url),
    {
      ...{ file, name: "writing" },
      onEnd: stopAcknowledging,
    },
  );
  const send = async (rows: NewRecord[]) => {
    assertAcknowledging();
    return settled(rows, await thread.ask(rows));
  };
  const save = together<NewRecord, SaveOutcome>(send, {
    sizeMax: groupSizeMax,
    runningMax: Number.POSITIVE_INFINITY,
  });

  return {
    save,
    stopAcknowledging,
    assertAcknowledging,
    async stop() {
      await save.idle();
      await thread.stop();
    },
  };
}

const unavailable = (message: string, cause: unknown) => new UnavailableError(message, { cause });

/**
 * After a failed fsync the kernel may report the next one as good with pages lost, so nothing is
 * acknowledged again until a restart has read the file anew. A full disk rolls back cleanly.
 */
function isFatal(code: string): boolean {
  if (code === "SQLITE_IOERR_SHMSIZE") return false; // no room for the index of the log
  return code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}
