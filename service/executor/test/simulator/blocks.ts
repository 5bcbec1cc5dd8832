// Schedules blocks, base fee changes, and faults. The faults are reorgs, dropped transactions, and
// nonces used by another program with the same key.

import { keccak256, stringToHex } from "viem";
import { type ChainModel, nonceOf, slotOf } from "./chain-model.ts";
import type { Random, Scheduler } from "./scheduler.ts";
import type { Width } from "./width.ts";

/**
 * Causes faults at random. The faults are reorgs, dropped transactions, and transactions that
 * another program sends with the same key. Some reorgs are deeper than the number of confirmations.
 */
function strike(chain: ChainModel, random: Random): void {
  if (random() < 0.06) {
    const { confirmations } = chain.setting;
    const depthMax = random() < 0.1 ? confirmations + 3 : confirmations;
    chain.reorg(1 + Math.floor(random() * depthMax), () => random() < 0.15);
  }
  const [evicted] = chain.pool.keys();
  if (evicted !== undefined && random() < 0.1) chain.pool.delete(evicted);
  if (random() < 0.01) takeNonce(chain, random);
}

/** Simulates another program with the same key: sends a transaction with the key's next nonce. */
function takeNonce(chain: ChainModel, random: Random): void {
  const [sender] = chain.setting.senders;
  const { chainId, shop } = chain.setting;
  const nonce = nonceOf(chain.blocks.at(-1)!.state, sender!);
  const fees = { maxFee: 100_000n, priorityFee: 100n };
  const hash = keccak256(stringToHex(`foreign ${random()}`));
  const taken = { from: sender!, nonce, to: shop, data: "0x", gas: 21_000 } as const;
  chain.pool.set(slotOf(taken), { chainId, ...taken, ...fees, hash });
}

/** Removes the newest blocks. All their transactions return to the pool. */
function reorganise(chain: ChainModel, { random, reorgRate }: Width): void {
  if (random() >= reorgRate) return;
  chain.reorg(1 + Math.floor(random() * chain.setting.confirmations), () => false);
}

type Span = {
  isPlain: boolean;
  width: Width | undefined;
  startSeconds: number;
  /** The faults end after `stormSeconds`, and the simulation ends after `untilSeconds`. */
  stormSeconds: number;
  untilSeconds: number;
  /** The average time between two blocks. */
  blockSeconds: number;
};

export function scheduleBlocks(
  chain: ChainModel,
  scheduler: Scheduler,
  random: Random,
  isStormy: () => boolean,
  { isPlain, width, startSeconds, stormSeconds, untilSeconds, blockSeconds }: Span,
): void {
  let baseFee = 10;
  const isOpen = () => scheduler.now() < stormSeconds * 1000;
  if (width?.isShared) {
    scheduler.at(width.random() * stormSeconds * 1000, () => takeNonce(chain, width.random));
  }
  const next = () => {
    const stormy = isStormy();
    if (stormy) strike(chain, random);
    if (width && isOpen()) reorganise(chain, width);
    if (stormy && random() < 0.05) baseFee *= 1 + random() * 20;
    if (!isPlain) baseFee = Math.max(8, Math.min(1000, baseFee * (0.85 + random() * 0.2)));
    if (width?.isSteady === false) {
      baseFee = Math.max(8, Math.min(60, baseFee * (0.9 + width.random() * 0.22)));
    }
    const last = chain.blocks.at(-1)!.timestamp;
    const here = startSeconds + Math.floor(scheduler.now() / 1000);
    chain.mine(Math.max(here, last + 1), BigInt(Math.floor(baseFee)));
    const gapMs = blockSeconds * 1000 * (0.5 + random());
    if (scheduler.now() / 1000 < untilSeconds) scheduler.at(scheduler.now() + gapMs, next);
  };
  scheduler.at(1000, next);
}
