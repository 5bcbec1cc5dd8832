// Limits how much the searches of one account delay other accounts. A search reads rows in batches,
// which are called windows (events/list-addresses.ts). The service reads one window per account at
// a time. Therefore, another account waits for at most one window.
//
// A search with few matches may read all rows of the account. Such a search reads about 100,000
// rows per second (bench/lists.ts). Each account has a limit on simultaneous long searches. A rate
// limit also limits how many windows these searches read. The first page of an unfiltered list is
// not a long search.

import type { FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { policies } from "../../accounts/policies.ts";
import type { ReadQueue } from "../../events/list.ts";
import { openGate } from "../../flow/gate.ts";
import { unavailable } from "../errors.ts";
import { takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";

/**
 * The maximum number of windows that a short search reads. A search that reads more is a long
 * search. Eight windows have 2,000 rows in total, which the service reads in about 20 ms.
 */
const shortWindowsMax = 8;
/** The maximum number of an account's simultaneous long searches on one server. */
const longSearchesMax = 3;
/**
 * A long search uses one unit of the account's rate limit when it starts, and another unit after
 * every `windowsPerToken` windows. These windows contain up to 100,000 rows, and reading them takes
 * one second.
 */
const windowsPerToken = 400;

/** The maximum number of accounts whose queue is kept. */
const queuesMax = 10_000;

type SearchParts = { accounts: Pick<Parts["accounts"], "limiter"> };
type Queue = { run: ReadQueue; longSearches: number };

/**
 * Calls `search` with the function `turn`. `search` must pass each read of rows to `turn`. After
 * the client has disconnected, `turn` returns undefined.
 *
 * @throws {Refusal} from `turn`: 503 `service_unavailable` if too many of the account's long
 *   searches are pending; 429 `rate_limited` if their rate limit is exceeded
 */
export type SearchInTurn = <Found>(
  request: FastifyRequest,
  accountId: string,
  search: (turn: ReadQueue) => Promise<Found>,
) => Promise<Found>;

/** Opens the queues of one server. */
export function openSearches(parts: SearchParts): SearchInTurn {
  // If the cache evicts a queue in use, the account's next search uses a new queue.
  const queues = new LRUCache({
    max: queuesMax,
    memoMethod: (_accountId: string): Queue => ({ run: openGate(1), longSearches: 0 }),
  });
  return (request, accountId, search) =>
    searchInTurn(parts, queues.memo(accountId), request, accountId, search);
}

async function searchInTurn<Found>(
  { accounts: { limiter } }: SearchParts,
  queue: Queue,
  { raw }: FastifyRequest,
  accountId: string,
  search: (turn: ReadQueue) => Promise<Found>,
): Promise<Found> {
  let windows = 0;
  let isLong = false;
  const admit = async () => {
    windows++;
    if (windows > shortWindowsMax && !isLong) {
      if (queue.longSearches >= longSearchesMax) throw tooManySearches(queue.longSearches + 1);
      queue.longSearches++;
      isLong = true;
    }
    const longWindows = windows - shortWindowsMax - 1;
    if (isLong && longWindows % windowsPerToken === 0) {
      await takeOrRefuse(limiter, policies.longSearches, accountId, "too many long searches");
    }
  };
  try {
    return await search(async (read) => {
      await admit();
      return queue.run(async () => (raw.socket.destroyed ? undefined : read()));
    });
  } finally {
    if (isLong) queue.longSearches--;
  }
}

const tooManySearches = (found: number) =>
  unavailable(
    `expected at most ${longSearchesMax} simultaneous long searches, found ${found}: ` +
      "wait until one of them ends",
    2,
  );
