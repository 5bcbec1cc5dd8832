// Statuses of one chain for many requests: those for the same address within one block share one
// reading, and addresses asked for in the same turn of the event loop share the calls.

import type { Hex } from "executable-address";
import type { AddressStatus, BlockReference, StatusSubject } from "executable-address/status";
import { LRUCache } from "lru-cache";
import { together } from "../../flow/together.ts";
import { findBlockAt } from "../rpc/heads.ts";
import { ChainUnavailable, unread } from "../rpc/json-rpc.ts";
import type { ChainAccess } from "./logs.ts";
import { newPastCache, type PastCache } from "./past.ts";
import { readStatuses } from "./status.ts";

export type StatusReader = {
  /**
   * The status at the chain's newest block, or one at most `headMsMax` older.
   *
   * @throws {ChainUnavailable} when the chain cannot be read: no older status is given instead
   */
  read(subject: StatusSubject): Promise<AddressStatus>;
  /** The status at a block below the newest, by its number. @throws {ChainUnavailable} */
  readAt(subject: StatusSubject, number: number): Promise<AddressStatus>;
};

/** Statuses of one block; a dropped one is read again when it is asked for again. */
const answersMax = 20_000;
/** Older blocks of which anybody asked for a status since the newest one came. */
const earlierMax = 100;
/** Addresses of one reading: 100 calls. */
const groupMax = 15_000;

export function openStatusReader(chain: ChainAccess): StatusReader {
  const cache = newPastCache();
  let current: Reading | undefined;
  const earlier = new LRUCache<number, Promise<Reading>>({ max: earlierMax });

  return {
    read(subject) {
      const readAt = (block: BlockReference) => {
        if (current?.block.hash !== block.hash) {
          current = openReading(chain, cache, block);
          earlier.clear();
        }
        return current.read(subject);
      };
      return chain.rpc.heads.at(readAt).catch(unread);
    },
    async readAt(subject, number) {
      const opening = earlier.get(number) ?? openEarlier(chain, cache, number);
      earlier.set(number, opening);
      opening.catch(() => earlier.delete(number));
      return (await opening.catch(unread)).read(subject).catch(unread);
    },
  };
}

type Reading = { block: BlockReference; read(subject: StatusSubject): Promise<AddressStatus> };

async function openEarlier(chain: ChainAccess, cache: PastCache, number: number) {
  const block = await findBlockAt(chain.rpc, number);
  if (!block) throw new ChainUnavailable(`chain ${chain.chainId} has no block ${number}`);
  return openReading(chain, cache, block);
}

/** The reading of one block, as far as anybody asked. */
function openReading(chain: ChainAccess, cache: PastCache, block: BlockReference): Reading {
  const answers = new LRUCache<Hex, Promise<AddressStatus>>({ max: answersMax });
  const ask = together<StatusSubject, AddressStatus>(
    (subjects) => readStatuses(chain, cache, block, subjects),
    { sizeMax: groupMax, runningMax: Number.POSITIVE_INFINITY },
  );
  return {
    block,
    read(subject) {
      const known = answers.get(subject.address);
      if (known) return known;
      const asked = ask(subject);
      answers.set(subject.address, asked);
      asked.catch(() => answers.delete(subject.address));
      return asked;
    },
  };
}
