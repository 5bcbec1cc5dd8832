// One chain, many readers: whoever asks for an address within one block shares one reading of it,
// and addresses asked for in the same moment share the calls.

import type { Hex } from "executable-address";
import type { AddressStatus, BlockReference } from "executable-address/status";
import { ChainUnavailable, unread } from "../rpc/json-rpc.ts";
import type { ChainAccess } from "./logs.ts";
import { newPastMemory, type PastMemory } from "./past.ts";
import { sharedHead } from "./shared-head.ts";
import { readStatuses, type Subject } from "./status.ts";
import { findBlock } from "./view.ts";

export type StatusReader = {
  /**
   * The status at the chain's newest block, or one at most `headMsMax` older.
   *
   * @throws {ChainUnavailable} when the chain cannot be read: nothing is told from memory
   */
  read(subject: Subject): Promise<AddressStatus>;
  /** The status at a block below the newest, by its number. @throws {ChainUnavailable} */
  readAt(subject: Subject, number: number): Promise<AddressStatus>;
  /** The newest block, as fresh as `read` has it. @throws {ChainUnavailable} */
  head(): Promise<BlockReference>;
};

/** Of one block. Those dropped are read again when asked for again. */
const answersMax = 20_000;
const attemptsMax = 3;

type Waiting = {
  subject: Subject;
  resolve(status: AddressStatus): void;
  reject(error: unknown): void;
};

/** @param now Unix milliseconds, or any clock that does not go back */
export function openStatusReader(chain: ChainAccess, now: () => number = Date.now): StatusReader {
  const memory = newPastMemory();
  const head = sharedHead(chain, now);
  let current: Reading | undefined;
  let earlier = new Map<number, Promise<Reading>>();

  return {
    head: () => head.find().catch(unread),
    async read(subject) {
      for (let attempt = 1; ; attempt++) {
        const block = await head.find().catch(unread);
        if (current?.block.hash !== block.hash) {
          current = openReading(chain, memory, block);
          earlier = new Map();
        }
        try {
          return await current.read(subject);
        } catch (error) {
          // A reorganisation shows as any error at all; a newer head tells whether it was one.
          head.forget();
          const newer = await head.find().catch(unread);
          if (newer.hash === block.hash || attempt === attemptsMax) unread(error);
        }
      }
    },
    async readAt(subject, number) {
      const opening = earlier.get(number) ?? openEarlier(chain, memory, number);
      earlier.set(number, opening);
      return (await opening.catch(unread)).read(subject).catch(unread);
    },
  };
}

type Reading = { block: BlockReference; read(subject: Subject): Promise<AddressStatus> };

async function openEarlier(chain: ChainAccess, memory: PastMemory, number: number) {
  const block = await findBlock(chain, number);
  if (!block) throw new ChainUnavailable(`chain ${chain.chainId} has no block ${number}`);
  return openReading(chain, memory, block);
}

/** The reading of one block, as far as anybody asked. */
function openReading(chain: ChainAccess, memory: PastMemory, block: BlockReference): Reading {
  const answers = new Map<Hex, Promise<AddressStatus>>();
  let waiting: Waiting[] = [];

  const flush = async () => {
    const batch = waiting;
    waiting = [];
    try {
      const subjects = batch.map(({ subject }) => subject);
      const statuses = await readStatuses(chain, memory, block, subjects);
      batch.forEach(({ resolve, reject }, index) => {
        const status = statuses[index]!;
        if (status instanceof Error) reject(status);
        else resolve(status);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };

  const ask = (subject: Subject) =>
    new Promise<AddressStatus>((resolve, reject) => {
      if (waiting.push({ subject, resolve, reject }) === 1) setImmediate(flush);
    });

  return {
    block,
    read(subject) {
      const known = answers.get(subject.address);
      if (known) return known;
      const asked = ask(subject);
      answers.set(subject.address, asked);
      asked.catch(() => answers.delete(subject.address));
      const oldest = answers.keys().next();
      if (answers.size > answersMax && !oldest.done) answers.delete(oldest.value);
      return asked;
    },
  };
}
