// Finding payments. A sweep reads the Transfer logs of listed tokens in a range of blocks and keeps
// those that go to an address of the store. A log only makes an address due: its balance decides
// what is done, so a false log costs one look. A missing log would cost a payment, so each block is
// read from two endpoints, where there are two.

import type { Hex } from "executable-address";
import {
  type Answer,
  blockCall,
  blockOf,
  ChainUnavailable,
  quantity,
  resultOf,
  toQuantity,
} from "../../chain/rpc/json-rpc.ts";
import { logOf, transferTopic } from "../../chain/rpc/log.ts";
import type { SweptBlock } from "../ledger/blocks.ts";
import type { Sighting } from "../ledger/jobs.ts";
import type { Pass } from "../parts.ts";

/** Blocks that one endpoint alone showed are kept as swept only this far behind the head. */
const uncorroboratedBlocksMax = 256;

/** No payment is older than the oldest record; the margin allows for clocks that differ. */
const startMarginSeconds = 3600;

/** Where no kept end of a sweep stands any more, sweeps begin this far below the oldest of them. */
const deepReorgBlocks = 256;

/** A head further below the cursor is no lag: the chain was set back, or the cursor was a lie. */
const lagBlocksMax = 64;

/**
 * Sweeps up to the newest block that is deep enough. The cursor moves over what enough endpoints
 * have shown; what fewer showed is taken down too, and read again.
 * @returns the last block read, and whether the head lags behind what was swept before
 */
export async function sweep(pass: Pass): Promise<{ upTo: number; isOld: boolean }> {
  const { parts, memory, view } = pass;
  const target = view.head.number - parts.chain.paymentConfirmations;
  if (memory.sweptHead === view.head.hash) return { upTo: target, isOld: false };
  const newest = await parts.ledger.findSweptBlock(parts.chain.chainId);
  // A head below the cursor comes from an endpoint that lags or was rolled back. No end is kept
  // then: ends above it may not stand any more, and the newest kept end would hide that.
  const below = newest === undefined ? 0 : newest.number - view.head.number;
  let keepsEnds = below <= 0;
  let next = await readFirstBlock(pass, target);
  for (let ranges = 0; ranges < parts.tuning.rangesPerPass && next <= target; ranges++) {
    const to = Math.min(target, next + memory.rangeBlocks - 1);
    const found = await readRange(pass, next, to);
    if (!found) {
      memory.rangeBlocks = Math.max(1, Math.floor(memory.rangeBlocks / 4));
      continue;
    }
    memory.rangeBlocks = Math.min(parts.tuning.rangeBlocksMax, memory.rangeBlocks * 2);
    keepsEnds &&= found.isCorroborated || target - next > uncorroboratedBlocksMax;
    await takeDown(pass, keepsEnds ? found.end : undefined, found.sightings);
    next = to + 1;
  }
  forgetOld(pass, target);
  if (keepsEnds && next > target) memory.sweptHead = view.head.hash;
  return { upTo: next - 1, isOld: below > 0 && below <= lagBlocksMax };
}

/** The first block to read: a little below the newest end of a sweep that still stands. */
async function readFirstBlock(pass: Pass, target: number): Promise<number> {
  const { parts, view } = pass;
  const { chainId } = parts.chain;
  let end = await parts.ledger.findSweptBlock(chainId, view.head.number + 1);
  if (!end) {
    const later = await parts.ledger.findSweptBlock(chainId);
    return later ? Math.max(0, target - deepReorgBlocks) : readStart(pass, target);
  }
  let firstLost: SweptBlock | undefined;
  while (end && !(await stands(pass, end))) {
    firstLost ??= end;
    const before: SweptBlock | undefined = await parts.ledger.findSweptBlock(chainId, end.number);
    if (!before) {
      end = { number: Math.max(0, end.number - deepReorgBlocks), hash: "0x" };
      break;
    }
    end = before;
  }
  if (firstLost) await goBackTo(pass, end!.number);
  return Math.max(0, Math.min(end!.number, target) + 1 - parts.tuning.resweepBlocks);
}

/**
 * Blocks above `number` may have been replaced. Sweeps begin there again, and purposes that were
 * final by one of them are pending again, so that their receipts are asked for anew.
 */
async function goBackTo({ parts, fence }: Pass, number: number): Promise<void> {
  const { ledger, chain, signer } = parts;
  for (const purpose of await ledger.findFinalAbove(chain.chainId, signer.address, number)) {
    await ledger.reopenPurpose(fence, purpose.id, purpose.addresses);
    parts.report({ kind: "reopened", nonce: purpose.nonce });
  }
  await ledger.forgetSweeps(fence, number + 1);
  parts.report({ kind: "reorg", fromBlock: number + 1 });
}

async function stands({ view }: Pass, end: SweptBlock): Promise<boolean> {
  if (end.number === view.head.number) return end.hash === view.head.hash;
  if (end.number === view.head.number - 1) return end.hash === view.head.parentHash;
  const [answer] = await view.read([blockCall(end.number)]);
  return blockOf(resultOf(answer)).hash === end.hash;
}

/** Where to begin with no cursor: at the head, or, if addresses were created, before the oldest. */
async function readStart({ parts, view }: Pass, target: number): Promise<number> {
  const oldest = await parts.ledger.findOldestCreation();
  if (oldest === undefined) return Math.max(0, target + 1 - parts.tuning.resweepBlocks);
  let [low, high] = [0, Math.max(0, target)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const [answer] = await view.read([blockCall(middle)]);
    if (blockOf(resultOf(answer)).timestamp <= oldest - startMarginSeconds) low = middle;
    else high = middle - 1;
  }
  return low;
}

type Sightings = Map<Hex, Sighting & { blockHash: Hex }>;
type Found = { end: SweptBlock; isCorroborated: boolean; sightings: Sightings };

/**
 * The logs of a range, and the hash of its last block, which must be the same before and after
 * them: an endpoint that lags answers for blocks it does not have with an empty list.
 * @returns undefined where the range is too much for an endpoint
 */
async function readRange(pass: Pass, from: number, to: number): Promise<Found | undefined> {
  const { parts, memory, view } = pass;
  const filter = {
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
    address: parts.chain.tokens,
    topics: [transferTopic],
  };
  const isHead = to === view.head.number;
  // With one endpoint the block before is not asked for: it has just shown this block as its head.
  const before = isHead && view.quorum === 1 ? [] : [blockCall(to)];
  const calls = [...before, { method: "eth_getLogs", params: [filter] }, blockCall(to)];
  const usable = (answer: Answer, index: number) => {
    if (index === before.length) return true;
    const block = "result" in answer && answer.result ? blockOf(answer.result) : undefined;
    return block !== undefined && (!isHead || block.hash === view.head.hash);
  };
  const answers = await view.readSeveral(calls, memory.sweepTurn++, usable);
  const hashes = new Set<Hex>();
  const sightings: Sightings = new Map();
  for (const list of answers) {
    const logs = list[before.length];
    for (const block of list.filter((each) => each !== logs)) {
      hashes.add(blockOf(resultOf(block)).hash);
    }
    if (logs && "result" in logs) addSightings(pass, logs.result, sightings);
    else if (from < to) return undefined;
    else throw new ChainUnavailable(`no logs of block ${to}: ${logs?.error.message}`);
  }
  const [hash] = hashes;
  if (!hash || hashes.size > 1) throw new ChainUnavailable("reorg in passing");
  const isCorroborated = answers.length >= view.quorum;
  return { end: { number: to, hash }, isCorroborated, sightings };
}

/** Each receiver with its newest block. Logs of another shape are no payments. */
function addSightings({ parts }: Pass, logs: unknown, sightings: Sightings): void {
  if (!Array.isArray(logs)) throw new ChainUnavailable("logs are not a list");
  for (const entry of logs as Record<string, unknown>[]) {
    const { address, topics, data } = logOf(entry);
    if (!parts.chain.tokens.includes(address) || topics[0] !== transferTopic) continue;
    if (topics.length !== 3 || data.length !== 66 || BigInt(data) === 0n) continue;
    const to: Hex = `0x${topics[2]!.slice(26)}`;
    const blockNumber = Number(quantity(entry.blockNumber));
    sightings.set(to, { address: to, blockNumber, blockHash: entry.blockHash as Hex });
  }
}

async function takeDown(pass: Pass, end: SweptBlock | undefined, found: Sightings): Promise<void> {
  const { parts, memory, fence, nowSeconds } = pass;
  const isNew = (sighting: { address: Hex; blockHash: Hex }) =>
    !memory.seen.get(sighting.blockHash)?.addresses.has(sighting.address);
  const asked = [...found.values()].filter(isNew).map((sighting) => sighting.address);
  const matched = await parts.ledger.matchAddresses(asked);
  const sightings = matched.map((address) => found.get(address)!);
  await parts.ledger.saveSweep(fence, end, sightings, nowSeconds);
  for (const { address, blockHash, blockNumber } of sightings) {
    const block = memory.seen.get(blockHash) ?? { blockNumber, addresses: new Set() };
    memory.seen.set(blockHash, block);
    block.addresses.add(address);
    parts.report({ kind: "detected", address, blockNumber });
  }
}

function forgetOld({ parts, memory }: Pass, target: number): void {
  const oldest = target - uncorroboratedBlocksMax - parts.tuning.resweepBlocks;
  for (const [hash, { blockNumber }] of memory.seen) {
    if (blockNumber < oldest) memory.seen.delete(hash);
  }
}
