// Finding payments: the Transfer logs of listed tokens, block range by block range, against the
// addresses we know. A sighting is only a hint, the balance decides; so a log too many is harmless,
// and against a log too few each block is read several times, from one endpoint after another.

import type { Hex } from "executable-address";
import type { SweptBlock } from "./ledger/blocks.ts";
import type { Sighting } from "./ledger/jobs.ts";
import { blockCall } from "./network.ts";
import type { Pass } from "./parts.ts";
import { logOf } from "./receipt.ts";
import { blockOf, quantity, type RpcAnswer, RpcUnavailable, resultOf, toQuantity } from "./rpc.ts";

/** `Transfer(address,address,uint256)`, ERC-20. */
const transferTopic: Hex = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

const sweepsPerHead = 2;

/** Before the oldest record no payment can be; so much for clocks that differ. */
const startMarginSeconds = 3600;

/** After a reorg deeper than all ends kept: so far below the oldest of them. */
const deepReorgBlocks = 256;

/** Sweeps up to the newest block that is deep enough. @returns the cursor after it */
export async function sweep(pass: Pass): Promise<number> {
  const { parts, memory, view } = pass;
  const target = view.head.number - parts.chain.paymentConfirmations;
  // While the head stays the same, a second reading is another endpoint's; a third tells nothing.
  if (memory.head && memory.head.sweeps++ >= sweepsPerHead) return memory.swept;
  let next = await findNext(pass, target);
  for (let ranges = 0; ranges < parts.tuning.rangesPerPass && next <= target; ranges++) {
    const to = Math.min(target, next + memory.rangeBlocks - 1);
    const found = await readRange(pass, next, to);
    if (!found) {
      memory.rangeBlocks = Math.max(1, Math.floor(memory.rangeBlocks / 4));
      continue;
    }
    memory.rangeBlocks = Math.min(parts.tuning.rangeBlocksMax, memory.rangeBlocks * 2);
    await takeDown(pass, found.end, found.sightings);
    next = to + 1;
  }
  forgetOld(pass, target);
  memory.swept = next - 1;
  // Behind after downtime, or a range was too much: the same head is swept again.
  if (memory.head && memory.swept < target) memory.head.sweeps = 0;
  return memory.swept;
}

/** The first block to read: a little below the newest end of a sweep that still stands. */
async function findNext(pass: Pass, target: number): Promise<number> {
  const { parts, view } = pass;
  const { chainId } = parts.chain;
  let end = await parts.ledger.findSweptBlock(chainId, view.head.number + 1);
  if (!end) {
    const later = await parts.ledger.findSweptBlock(chainId);
    return later ? Math.max(0, target - deepReorgBlocks) : findStart(pass, target);
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
 * What stood above `number` may not stand any more. Sweeps begin there again, and what was final
 * by a block there is open again: its receipt is asked for as if for the first time.
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
  const [answer] = await view.read([blockCall(end.number)]);
  return blockOf(resultOf(answer)).hash === end.hash;
}

/** Where to begin with no cursor: at the head, or, if addresses were created, before the oldest. */
async function findStart({ parts, view }: Pass, target: number): Promise<number> {
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

type Found = { end: SweptBlock; sightings: Map<Hex, Sighting & { blockHash: Hex }> };

/**
 * The logs of a range, and the hash of its last block, which must be the same before and after
 * them: an endpoint that lags answers for blocks it does not have with an empty list.
 * @returns undefined where the range is too much for the endpoint
 */
async function readRange(pass: Pass, from: number, to: number): Promise<Found | undefined> {
  const { parts, memory, view } = pass;
  const filter = {
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
    address: parts.chain.tokens,
    topics: [transferTopic],
  };
  const calls = [blockCall(to), { method: "eth_getLogs", params: [filter] }, blockCall(to)];
  const isHead = to === view.head.number;
  const usable = (answer: RpcAnswer, index: number) => {
    if (index === 1) return true;
    const block = "result" in answer && answer.result ? blockOf(answer.result) : undefined;
    return block !== undefined && (!isHead || block.hash === view.head.hash);
  };
  const [before, logs, after] = await view.readInTurn(calls, memory.turn++, usable);
  const end = blockOf(resultOf(before));
  if (blockOf(resultOf(after)).hash !== end.hash) throw new RpcUnavailable("reorg in passing");
  if (!logs || "error" in logs) {
    if (from === to) throw new RpcUnavailable(`no logs of block ${to}: ${logs?.error.message}`);
    return undefined;
  }
  return { end: { number: to, hash: end.hash }, sightings: sightingsOf(pass, logs.result) };
}

/** Who received what, the newest block of each address; logs of another shape are not payments. */
function sightingsOf({ parts }: Pass, logs: unknown): Found["sightings"] {
  if (!Array.isArray(logs)) throw new RpcUnavailable("logs are not a list");
  const sightings: Found["sightings"] = new Map();
  for (const entry of logs as Record<string, unknown>[]) {
    const { address, topics, data } = logOf(entry);
    if (!parts.chain.tokens.includes(address) || topics[0] !== transferTopic) continue;
    if (topics.length !== 3 || data.length !== 66 || BigInt(data) === 0n) continue;
    const to: Hex = `0x${topics[2]!.slice(26)}`;
    const blockNumber = Number(quantity(entry.blockNumber));
    sightings.set(to, { address: to, blockNumber, blockHash: entry.blockHash as Hex });
  }
  return sightings;
}

async function takeDown(pass: Pass, end: SweptBlock, found: Found["sightings"]): Promise<void> {
  const { parts, memory, fence, now } = pass;
  const isNew = (sighting: { address: Hex; blockHash: Hex }) =>
    !memory.seen.get(sighting.blockHash)?.addresses.has(sighting.address);
  const asked = [...found.values()].filter(isNew).map((sighting) => sighting.address);
  const matched = await parts.ledger.matchAddresses(asked);
  const sightings = matched.map((address) => found.get(address)!);
  await parts.ledger.saveSweep(fence, end, sightings, now);
  for (const { address, blockHash, blockNumber } of sightings) {
    const block = memory.seen.get(blockHash) ?? { blockNumber, addresses: new Set() };
    memory.seen.set(blockHash, block);
    block.addresses.add(address);
    parts.report({ kind: "detected", address, blockNumber });
  }
}

function forgetOld({ parts, memory }: Pass, target: number): void {
  for (const [hash, { blockNumber }] of memory.seen) {
    if (blockNumber < target - 2 * parts.tuning.resweepBlocks) memory.seen.delete(hash);
  }
}
