// The reading thread of SQLite, as the answering thread sees it: addresses go over in groups, and
// records come back as JSON, proved (read-worker.ts). With a thread for it an eighth more look-ups
// are answered a second (bench/http.ts), and a disk that is slow to read delays look-ups alone.

import { together } from "../../flow/together.ts";
import { notServed } from "../record.ts";
import { UnavailableError } from "../store.ts";
import type { ReadAnswer } from "./read-worker.ts";
import { startThread } from "./thread.ts";

export type RecordReader = {
  /**
   * The record of an address of 20 bytes.
   * @throws {UnavailableError}
   * @throws {CorruptError}
   */
  find(address: Uint8Array): Promise<string | undefined>;
  /** Finishes what was begun. */
  stop(): Promise<void>;
};

/** A group of this size leaves at once: the reading thread starts while requests are still read. */
const groupSizeMax = 32;
/** One is worked on while the next waits before the thread. */
const groupsRunningMax = 2;

export function recordReader(file: string): RecordReader {
  const thread = startThread<ArrayBuffer, ReadAnswer>(
    new URL("./read-worker.ts", import.meta.url),
    {
      ...{ file, name: "reading" },
    },
  );
  const findAll = async (addresses: Uint8Array[]) => {
    const bytes = new Uint8Array(20 * addresses.length);
    for (const [at, address] of addresses.entries()) bytes.set(address, 20 * at);
    const answer = await thread.ask(bytes.buffer, [bytes.buffer]);
    if ("failure" in answer) {
      throw new UnavailableError(`not read: ${answer.failure}`, { cause: answer.message });
    }
    return answer.found.map((found, at) => {
      if (found === null) return undefined;
      return typeof found === "string"
        ? found
        : notServed(addresses[at]!, new Error(found.corrupt));
    });
  };
  const find = together<Uint8Array, string | undefined>(findAll, {
    sizeMax: groupSizeMax,
    runningMax: groupsRunningMax,
  });
  return {
    find,
    async stop() {
      await find.idle();
      await thread.stop();
    },
  };
}
