// The status of addresses as their chain shows it at one block, many at a time. The facts are read
// here; the rule that makes a status of them is the library's (address/status/rule.ts).

import {
  type AddressStatus,
  addEvents,
  type BlockReference,
  type Holding,
  noPast,
  type StatusSubject,
  statusOf,
} from "executable-address/status";
import { oneAt } from "../rpc/call-at.ts";
import { ChainUnavailable } from "../rpc/json-rpc.ts";
import type { ChainAccess } from "./logs.ts";
import { countOnce } from "./native-token.ts";
import { type PastCache, readPast } from "./past.ts";
import { readHoldings } from "./probe.ts";
import { type ChainView, viewAt } from "./view.ts";

/**
 * The statuses of `subjects`, in their order, all at `block`: 3 calls for up to 150 of them, and
 * the calls that the past of those with code takes. An error stands for one that cannot be told.
 *
 * @throws {ChainUnavailable} when the chain cannot be read or left `block` meanwhile
 */
export async function readStatuses(
  chain: ChainAccess,
  cache: PastCache,
  block: BlockReference,
  subjects: StatusSubject[],
): Promise<(AddressStatus | Error)[]> {
  const holders = subjects.map(({ address, intent }) => ({ vault: address, token: intent.token }));
  const atBlock = oneAt(chain, block);
  const [shown] = await readHoldings(atBlock, holders);
  const holdings = await countOnce(atBlock, cache.nativeTokens, holders, shown!);
  const view = viewAt(chain, block);
  const statuses = await Promise.all(
    subjects.map((subject, index) =>
      readOne(view, cache, subject, holdings[index]!).catch((error: Error) => error),
    ),
  );
  // Logs are asked for by number: they are of this chain only if it still has this block.
  const there = await viewAt(chain, block).blockAt(block.number);
  if (there?.hash !== block.hash) {
    throw new ChainUnavailable(`block ${block.number} ${block.hash} left chain ${chain.chainId}`);
  }
  return statuses;
}

async function readOne(
  view: ChainView,
  cache: PastCache,
  subject: StatusSubject,
  holding: Holding,
) {
  const events = holding.codeBytes > 0 ? await readPast(view, cache, subject.address) : [];
  try {
    return statusOf(subject, view.block, holding, addEvents(subject, noPast, events));
  } catch (error) {
    // The code contradicts the events, so some were missing: the next read must not use them.
    cache.known.delete(subject.address);
    throw error;
  }
}
