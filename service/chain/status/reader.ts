// Reads the statuses of one chain's addresses. A process has one reader per chain. The status
// route, event streams, pages, and observer share it and its cache of past events.
//
// This file only reads data. The library derives the status from it (address/status/rule.ts).

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
  addressesPerReadMax,
  type ChainAccess,
  type ChainView,
  newPastCache,
  type PastCache,
  readPast,
  viewAt,
} from "./past.ts";
import { coinOf, countOnce, type NativeTokens, readHoldings, type VaultToken } from "./probe.ts";

/** A chain with its listed tokens. */
type StatusChain = ChainAccess & { tokens: readonly { address: Hex }[] };

export type StatusReader = {
  /**
   * Reads the status at the chain's newest block, which can be cached for up to `headMsMax`.
   *
   * @throws {ChainUnavailable} if the chain cannot be read. An older status is never returned.
   */
  read(subject: StatusSubject): Promise<AddressStatus>;
  /**
   * Reads the status at `block`. If `block` is a number, reads the block that has this number now.
   * A reorganization can replace that block.
   *
   * @throws {AddressUnreadable} if the node's answers about this address are inconsistent
   * @throws {ChainUnavailable}
   */
  readAt(subject: StatusSubject, block: BlockReference | number): Promise<AddressStatus>;
  /**
   * Reads balances in tokens that the intent does not request, at the block of `status`. Reads the
   * balances of the tokens in `more`. If the address is open, also reads the balances of the native
   * coin and of the other listed tokens. A status depends only on the record and the block, so it
   * omits these balances.
   *
   * @returns only balances above zero, or null if the chain does not respond
   */
  readStrays(status: AddressStatus, more: readonly Hex[]): Promise<TokenAmount[] | null>;
};

/**
 * The status of an address cannot be read at a block. For example, the token does not answer
 * `balanceOf`. Other addresses can be read.
 */
export class AddressUnreadable extends ChainUnavailable {}

/**
 * The maximum number of cached statuses, and of cached strays (balances in other tokens). If an
 * address is read twice at one block, each cache avoids at least one request to the node.
 * http/status/status.test.ts counts the requests.
 */
const answersMax = 20_000;
/**
 * The maximum number of blocks that are cached by number. An event stream that skipped blocks reads
 * the status at each skipped block. The cache lets several streams share one request for each
 * block. A cached block is used only until the newest block changes.
 */
const earlierMax = 100;
/**
 * The maximum number of addresses whose strays are read together. For each address, all listed
 * tokens are read.
 */
const straysGroupMax = 1_000;

type Question = { block: BlockReference; subject: StatusSubject };

export function openStatusReader(chain: StatusChain): StatusReader {
  const { heads } = chain.rpc;
  const past = newPastCache();
  const nativeTokens: NativeTokens = new Map();
  const answered = recalled<AddressStatus>(answersMax);
  const earlier = recalled<BlockReference>(earlierMax);
  const hashOf = ({ block }: { block: BlockReference }) => block.hash;
  const readGroup = (group: Question[]) => {
    const subjects = group.map(({ subject }) => subject);
    return readStatuses(chain, { past, nativeTokens }, group[0]!.block, subjects);
  };
  const readTogether = togetherBy<Question, AddressStatus>(hashOf, readGroup, addressesPerReadMax);
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
    readStrays: openStrays(chain, nativeTokens),
  };
}

async function readBlock({ chainId, rpc }: StatusChain, number: number) {
  const block = await findBlockAt(rpc, number);
  if (!block) throw new ChainUnavailable(`chain ${chainId} has no block ${number}`);
  return block;
}

/**
 * Reads the statuses of `subjects` at `block`, in order. Returns an error in place of a status that
 * cannot be read.
 *
 * Makes two calls for up to `pairsPerCallMax` addresses: one reads the balances, and one reads the
 * block again. Makes one more call for each token that `countOnce` tests. If an address has code,
 * makes more calls to read its events.
 *
 * @throws {ChainUnavailable} if the chain cannot be read, or no longer contains `block` after the
 *   read
 */
async function readStatuses(
  chain: StatusChain,
  { past, nativeTokens }: { past: PastCache; nativeTokens: NativeTokens },
  block: BlockReference,
  subjects: StatusSubject[],
): Promise<(AddressStatus | Error)[]> {
  const pairs = subjects.map(({ address, intent }) => ({ vault: address, token: intent.token }));
  const atBlock = oneAt(chain, block);
  const [shown] = await readHoldings(atBlock, pairs);
  const holdings = await countOnce(atBlock, nativeTokens, pairs, shown!);
  const view = viewAt(chain, block);
  const statuses = await Promise.all(
    subjects.map((subject, index) =>
      readStatus(view, past, subject, holdings[index]!).catch(
        (cause: Error) => new AddressUnreadable(cause.message, { cause }),
      ),
    ),
  );
  // Logs are requested by block number. The result is valid only if `block` is still in the chain.
  const there = await findBlockAt(chain.rpc, block.number);
  if (there?.hash !== block.hash) {
    throw new ChainUnavailable(
      `block ${block.number} (${block.hash}) is no longer on chain ${chain.chainId}`,
    );
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
    // The address has code that does not match its events, so some events are missing. The next
    // read must not use the cached events.
    past.known.delete(subject.address);
    throw error;
  }
}

type StraysQuestion = { block: BlockReference; pairs: VaultToken[] };

function openStrays(chain: StatusChain, nativeTokens: NativeTokens): StatusReader["readStrays"] {
  const answered = recalled<TokenAmount[]>(answersMax);
  const readGroup = async (group: StraysQuestion[]) => {
    const pairs = group.flatMap((each) => each.pairs);
    const atBlock = oneAt(chain, group[0]!.block);
    const [shown] = await readHoldings(atBlock, pairs);
    const all = await countOnce(atBlock, nativeTokens, pairs, shown!);
    return group.map((each) => all.splice(0, each.pairs.length));
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
    const pairs = [token, ...others].map((each) => ({ vault: address, token: each }));
    const holdings = await readTogether({ block, pairs });
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
