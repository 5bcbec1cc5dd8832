// Reads a key's nonce from the endpoints, and chooses the nonce of the next transaction.

import type { Hex } from "executable-address";
import { quantity, resultOf } from "../../chain/rpc/json-rpc.ts";
import { readAnswers } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";
import type { Pass } from "../pass.ts";

export type NonceMemory = {
  /** Each key's nonce on chain, and the block and the time at which it was read. */
  nonces: Map<Hex, { value: number; head: Hex; sinceMs: number }>;
};

export const openNonceMemory = (): NonceMemory => ({ nonces: new Map() });

/**
 * How long a key's nonce on chain is cached while no transaction is pending. `asleepNonceMs`
 * applies while the chain sleeps (decide-poll.ts), and `idleNonceMs` applies otherwise.
 */
const idleNonceMs = 60_000;
const asleepNonceMs = 6 * hourMs;

/** Reads the nonce at each new block while a transaction is pending, and less often otherwise. */
export async function readKeyNonce(
  pass: Pass<NonceMemory & { sleep: { isAsleep: boolean } }>,
  isPending: boolean,
): Promise<{ nonce: number; isFresh: boolean }> {
  const { memory, view, parts, signer } = pass;
  const known = memory.nonces.get(signer.address);
  const isSame = known?.head === view.head.hash;
  const ageMsMax = memory.sleep.isAsleep ? asleepNonceMs : idleNonceMs;
  const isRecent = known && parts.clock() - known.sinceMs < ageMsMax;
  if (known && (isSame || !isPending) && isRecent) return { nonce: known.value, isFresh: false };
  const nonce = await readNonce(pass);
  const read = { value: nonce, head: view.head.hash, sinceMs: parts.clock() };
  memory.nonces.set(signer.address, read);
  return { nonce, isFresh: true };
}

/** Reads the key's nonce in the state of the block `view.head`. */
async function readNonce({ signer, view }: Pick<Pass, "signer" | "view">): Promise<number> {
  const params = [signer.address, view.at];
  const method = "eth_getTransactionCount";
  const [answer] = await view.read([{ method, params }]);
  return Number(quantity(resultOf(answer, method)));
}

/**
 * Reads the key's nonce from each endpoint, at the endpoint's newest block. Returns the nonces in
 * descending order.
 */
export async function readNonces({
  signer,
  view,
}: Pick<Pass, "signer" | "view">): Promise<number[]> {
  const params = [signer.address, "latest"];
  const answers = await view.readEach([{ method: "eth_getTransactionCount", params }]);
  return readAnswers(answers, 0, (result) => Number(quantity(result))).sort((a, b) => b - a);
}

/**
 * Returns the database's next nonce for the key, or why this nonce cannot be used. If the nonce on
 * chain is higher, foreign.ts searches for the missing transactions. If too few endpoints agree,
 * the nonce on chain is not known.
 */
export async function nextNonce(
  pass: Pass<NonceMemory>,
): Promise<number | "earlier_nonces_unknown" | "endpoints_disagree_on_nonce"> {
  const { parts, memory, view, signer } = pass;
  const own = await parts.ledger.readNextNonce(parts.chain.chainId, signer.address);
  const nonces = await readNonces(pass);
  const reached = nonces[view.quorum - 1];
  if (reached !== undefined) {
    if (reached <= own) return own;
    memory.nonces.delete(signer.address);
    return "earlier_nonces_unknown";
  }
  // Without a quorum, one answer suffices if no answer is above the database's next nonce.
  return nonces.length > 0 && nonces[0]! <= own ? own : "endpoints_disagree_on_nonce";
}
