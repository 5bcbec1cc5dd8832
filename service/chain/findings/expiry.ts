// Finds intents that expire before a payment made now could be executed and final.

import type { Finding } from "executable-address/client";
import type { BlockReference, StatusSubject } from "executable-address/status";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { blockCall, blockOf } from "../rpc/json-rpc.ts";

/** Blocks: of a payment before the executor acts on it, and of what it did until it is final. */
export type Depths = { paymentConfirmations: number; confirmations: number };

/** A chain's pace is measured over so many blocks. */
const blocksMeasured = 100;
/** No listed chain is slower. The bound keeps a chain that stood still from counting as slow. */
const blockSecondsMax = 30;

export async function findNearExpiry(
  rpc: ChainRpc,
  block: BlockReference,
  { intent }: StatusSubject,
  { paymentConfirmations, confirmations }: Depths,
): Promise<Finding[]> {
  const leftSeconds = intent.expirationTimestamp - block.timestamp;
  // One block for the payment and one for the execution.
  const blocks = paymentConfirmations + confirmations + 2;
  if (leftSeconds > blocks * blockSecondsMax) return [];
  const seconds = Math.ceil(blocks * (await readPace(rpc, block)));
  if (leftSeconds > seconds) return [];
  const message =
    `it expires ${leftSeconds} s after the newest block; a payment made now is final after ` +
    `about ${seconds} s, ${blocks} blocks of this chain`;
  const cure = `take at least ${block.timestamp + seconds * 2}, and what payers need besides`;
  return [{ path: ["expirationTimestamp"], code: "expires_too_near", message, cure }];
}

/** Seconds a block. */
async function readPace(rpc: ChainRpc, block: BlockReference): Promise<number> {
  const measured = Math.min(blocksMeasured, block.number);
  if (measured === 0) return blockSecondsMax;
  const { method, params } = blockCall(block.number - measured);
  const { timestamp } = blockOf(await rpc.request(method, params));
  return Math.min(blockSecondsMax, (block.timestamp - timestamp) / measured);
}
