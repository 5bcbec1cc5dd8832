// Statuses of one chain for many requests: those for the same address within one block share one
// reading, and addresses asked for in the same turn of the event loop share the calls.

import type { AddressStatus, BlockReference, StatusSubject } from "executable-address/status";
import { recalled } from "../../flow/recalled.ts";
import { togetherBy } from "../../flow/together.ts";
import { findBlockAt } from "../rpc/heads.ts";
import { ChainUnavailable, unread } from "../rpc/json-rpc.ts";
import type { ChainAccess } from "./logs.ts";
import { newPastCache } from "./past.ts";
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

/** An address and a block; a dropped one is read again when it is asked for again. */
const answersMax = 20_000;
/** Blocks below the newest, by number, as long as that is the newest. */
const earlierMax = 100;
/** Addresses of one reading: 100 calls. */
const groupMax = 15_000;

type Asked = { block: BlockReference; subject: StatusSubject };

export function openStatusReader(chain: ChainAccess): StatusReader {
  const { heads } = chain.rpc;
  const cache = newPastCache();
  const answered = recalled<AddressStatus>(answersMax);
  const earlier = recalled<BlockReference>(earlierMax);
  const readAll = (asked: Asked[]) => {
    const subjects = asked.map(({ subject }) => subject);
    return readStatuses(chain, cache, asked[0]!.block, subjects);
  };
  const ask = togetherBy<Asked, AddressStatus>(({ block }) => block.hash, readAll, groupMax);
  const readOne = (block: BlockReference, subject: StatusSubject) =>
    answered(`${subject.address} ${block.hash}`, () => ask({ block, subject }));
  const readEarlier = async (subject: StatusSubject, number: number) => {
    const { hash } = await heads.read();
    const block = await earlier(`${number} ${hash}`, () => readBlock(chain, number));
    return readOne(block, subject);
  };
  return {
    read: (subject) => heads.at((block) => readOne(block, subject)).catch(unread),
    readAt: (subject, number) => readEarlier(subject, number).catch(unread),
  };
}

async function readBlock({ chainId, rpc }: ChainAccess, number: number) {
  const block = await findBlockAt(rpc, number);
  if (!block) throw new ChainUnavailable(`chain ${chainId} has no block ${number}`);
  return block;
}
