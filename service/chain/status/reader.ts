// Reads statuses of one chain's addresses. A process has one reader for each chain: the status
// route, the streams, the pages, and the observer share its readings and its cache of the past.
//
// The facts are read here. The library has the rule that derives a status from them
// (address/status/rule.ts).

import { type Hex, zeroAddress } from "executable-address";
import {
  type AddressStatus,
  addEvents,
  type BlockReference,
  type Holding,
  isOpenState,
  isSame,
  noPast,
  type StatusSubject,
  statusOf,
  type TokenAmount,
} from "executable-address/status";
import { recalled, togetherBy } from "../../flow/together.ts";
import { oneAt } from "../rpc/chain-rpc.ts";
import { findBlockAt } from "../rpc/heads.ts";
import { ChainUnavailable, unread } from "../rpc/json-rpc.ts";
import {
  type ChainAccess,
  type ChainView,
  newPastCache,
  type PastCache,
  readPast,
  viewAt,
} from "./past.ts";
import { coinOf, countOnce, type Holder, readHoldings } from "./probe.ts";

/** A chain with its listed tokens. */
type StatusChain = ChainAccess & { tokens: readonly { address: Hex }[] };

export type StatusReader = {
  /**
   * Reads the status at the chain's newest block, or one at most `headMsMax` older.
   *
   * @throws {ChainUnavailable} if the chain cannot be read: an older status is never returned
   */
  read(subject: StatusSubject): Promise<AddressStatus>;
  /**
   * Reads the status at `block`, or at the block of that number in the chain as it is now.
   *
   * @throws {AddressUnreadable} if only this address cannot be read there
   * @throws {ChainUnavailable}
   */
  readAt(subject: StatusSubject, block: BlockReference | number): Promise<AddressStatus>;
  /**
   * Reads the balances of an address in tokens that its intent does not request, at the block of
   * `status`: the coin and other listed tokens while the address is open, and `more` tokens in any
   * state. They are not part of a status, which the record and one block decide.
   *
   * @returns only balances above zero, or null if the chain does not respond
   */
  readStrays(status: AddressStatus, more: readonly Hex[]): Promise<TokenAmount[] | null>;
};

/** One address cannot be read at a block at which others can, because a node contradicts itself. */
export class AddressUnreadable extends ChainUnavailable {}

/**
 * The number of statuses and strays to cache, each of an address at a block. An evicted one is read
 * again.
 */
const answersMax = 20_000;
/**
 * The number of blocks below the newest one that are cached by number until there is a newer block.
 */
const earlierMax = 100;
/** The number of addresses per read: 100 calls. */
const groupMax = 15_000;
/** The number of addresses per read of strays, each with all listed tokens. */
const straysGroupMax = 1_000;

type Question = { block: BlockReference; subject: StatusSubject };

export function openStatusReader(chain: StatusChain): StatusReader {
  const { heads } = chain.rpc;
  const past = newPastCache();
  const answered = recalled<AddressStatus>(answersMax);
  const earlier = recalled<BlockReference>(earlierMax);
  const hashOf = ({ block }: { block: BlockReference }) => block.hash;
  const readGroup = (group: Question[]) => {
    const subjects = group.map(({ subject }) => subject);
    return readStatuses(chain, past, group[0]!.block, subjects);
  };
  const readTogether = togetherBy<Question, AddressStatus>(hashOf, readGroup, groupMax);
  const readOne = (subject: StatusSubject, block: BlockReference) =>
    answered(`${subject.address} ${block.hash}`, () => readTogether({ block, subject }));
  const findEarlier = async (number: number) => {
    const { hash } = await heads.read();
    return earlier(`${number} ${hash}`, () => readBlock(chain, number));
  };
  return {
    read: (subject) => heads.at((block) => readOne(subject, block)).catch(unread),
    async readAt(subject, block) {
      try {
        return await readOne(subject, typeof block === "number" ? await findEarlier(block) : block);
      } catch (error) {
        return unread(error);
      }
    },
    readStrays: openStrays(chain, past),
  };
}

async function readBlock({ chainId, rpc }: StatusChain, number: number) {
  const block = await findBlockAt(rpc, number);
  if (!block) throw new ChainUnavailable(`chain ${chainId} has no block ${number}`);
  return block;
}

/**
 * Reads the statuses of `subjects`, in their order, all at `block`: 3 calls for up to 150
 * addresses, and the calls for the past of addresses with code. An error takes the place of a
 * status that cannot be read.
 *
 * @throws {ChainUnavailable} if the chain cannot be read or left `block` meanwhile
 */
async function readStatuses(
  chain: StatusChain,
  past: PastCache,
  block: BlockReference,
  subjects: StatusSubject[],
): Promise<(AddressStatus | Error)[]> {
  const holders = subjects.map(({ address, intent }) => ({ vault: address, token: intent.token }));
  const atBlock = oneAt(chain, block);
  const [shown] = await readHoldings(atBlock, holders);
  const holdings = await countOnce(atBlock, past.nativeTokens, holders, shown!);
  const view = viewAt(chain, block);
  const statuses = await Promise.all(
    subjects.map((subject, index) =>
      readStatus(view, past, subject, holdings[index]!).catch(
        (cause: Error) => new AddressUnreadable(cause.message, { cause }),
      ),
    ),
  );
  // Logs are requested by block number, so they belong to this chain only if it still has this
  // block.
  const there = await findBlockAt(chain.rpc, block.number);
  if (there?.hash !== block.hash) {
    throw new ChainUnavailable(`block ${block.number} ${block.hash} left chain ${chain.chainId}`);
  }
  return statuses;
}

async function readStatus(
  view: ChainView,
  past: PastCache,
  subject: StatusSubject,
  holding: Holding,
) {
  const events = holding.codeBytes > 0 ? await readPast(view, past, subject.address) : [];
  try {
    return statusOf(subject, view.block, holding, addEvents(subject, noPast, events));
  } catch (error) {
    // The code contradicts the events, so some were missing: the next read must not use them.
    past.known.delete(subject.address);
    throw error;
  }
}

type StraysQuestion = { block: BlockReference; holders: Holder[] };

function openStrays(chain: StatusChain, past: PastCache): StatusReader["readStrays"] {
  const answered = recalled<TokenAmount[]>(answersMax);
  const readGroup = async (group: StraysQuestion[]) => {
    const holders = group.flatMap((each) => each.holders);
    const atBlock = oneAt(chain, group[0]!.block);
    const [shown] = await readHoldings(atBlock, holders);
    const all = await countOnce(atBlock, past.nativeTokens, holders, shown!);
    return group.map((each) => all.splice(0, each.holders.length));
  };
  const readTogether = togetherBy<StraysQuestion, Holding[]>(
    ({ block }) => block.hash,
    readGroup,
    straysGroupMax,
  );
  const readOne = async (
    { address, token, state, block }: AddressStatus,
    more: readonly Hex[],
  ): Promise<TokenAmount[]> => {
    const isOpen = isOpenState(state);
    const listed = isOpen ? chain.tokens.map((each) => each.address) : [];
    const others = [...listed.filter((each) => !isSame(each, token)), ...more];
    const holders = [token, ...others].map((held) => ({ vault: address, token: held }));
    const holdings = await readTogether({ block, holders });
    const amounts = holdings.slice(1).map(({ balance = 0n }, at) => ({
      token: others[at]!,
      amount: balance,
    }));
    const coin = isOpen ? [{ token: zeroAddress, amount: coinOf(holdings) }] : [];
    return [...coin, ...amounts]
      .filter(({ amount }) => amount > 0n)
      .map(({ token, amount }) => ({ token, amount: String(amount) }));
  };
  return async (status, more) => {
    if (!isOpenState(status.state) && more.length === 0) return [];
    const key = [status.address, status.block.hash, ...more].join(" ");
    return answered(key, () => readOne(status, more)).catch(() => null);
  };
}
