// Sends transactions. Reads a key's nonce from the endpoints, and chooses the nonce of the next
// transaction. Each signed transaction is saved before it is broadcast. The database therefore
// contains every broadcast transaction.

import type { Hex } from "executable-address";
import { keccak256 } from "viem/utils";
import { type Call, quantity, resultOf } from "../../chain/rpc/json-rpc.ts";
import { quorumOf, type RelayAnswer, type Relays } from "../../chain/rpc/network.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import { readAnswers } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";
import { max, min } from "../../flow/numbers.ts";
import type { NewPurpose, Purpose, Share } from "../ledger/purposes.ts";
import { bumpFee, computeCost, type Fee } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import {
  computeCostMax,
  measureSize,
  openPurseMemory,
  type Purse,
  type PurseMemory,
  reserve,
  type Sized,
  zeroValueTransfer,
} from "./purse.ts";

export type SendMemory = {
  sending: {
    /** The time at which a key is used again, for each key that failed to sign. */
    restingMs: Map<Hex, number>;
    /**
     * The time at which this process last broadcast or adopted a transaction, by transaction hash.
     */
    sentMs: Map<Hex, number>;
    /**
     * The purpose IDs of the transactions that nodes rejected as too large for any block. The value
     * is the time of the first rejection in seconds.
     */
    hopeless: Map<string, number>;
  };
  /** Each key's nonce on chain, and the block and the time at which it was read. */
  nonces: Map<Hex, { value: number; head: Hex; sinceMs: number }>;
} & PurseMemory;

export const openSendMemory = (): SendMemory => ({
  ...openPurseMemory(),
  sending: {
    restingMs: new Map(),
    sentMs: new Map(),
    hopeless: new Map(),
  },
  nonces: new Map(),
});

export type SendPass = Pass<SendMemory & { relays: Relays }>;

/** The maximum gas limit of a transaction (EIP-7825). */
const transactionGasMax = 16_777_216n;

/**
 * Returns the maximum gas limit of a transaction: the chain's limit or `batchGasMax`, whichever is
 * lower.
 */
export function gasMax({ view, parts }: Pick<Pass, "view" | "parts">): number {
  const { gasLimit } = view.head;
  const chains = Number(min(gasLimit, transactionGasMax));
  return Math.min(chains, parts.tuning.batchGasMax);
}

export type Order = {
  kind: Purpose["kind"];
  nonce: number;
  data: Hex;
  gas: number;
  shares: readonly Share[];
  reported?: NewPurpose["reported"];
};

/**
 * Signs, stores, and broadcasts a transaction. The caller must check `canAfford` (purse.ts) first.
 *
 * @throws {SignerFailed} before anything is stored
 */
export async function send(pass: SendPass, purse: Purse, order: Order): Promise<void> {
  const { parts, fence, nowSeconds } = pass;
  const fee = purse.suggested;
  const signed = await sign(pass, order, fee);
  const purpose = { ...order, sender: pass.signer.address, createdAtSeconds: nowSeconds };
  const id = await parts.ledger.openPurpose(fence, purpose, signed);
  reserve(purse, computeCost(measureSize(order), fee.maxFee, purse.perByte));
  await broadcast(pass, { id, nonce: order.nonce, transactions: [signed] }, signed);
  const { kind, nonce, shares } = order;
  const sent = { kind: "sent" as const, purpose: kind, nonce, hash: signed.hash };
  parts.report({ ...sent, addresses: shares.length });
}

/**
 * Replaces the transaction of `purpose`. The replacement has the same nonce, and its fee is at
 * least an eighth higher. The fee need not be higher if most nodes rejected the transaction as too
 * large. Sends nothing if the fee or cost exceeds a limit, or if the key cannot pay.
 *
 * @param isMoot whether nothing in the transaction can succeed. If so, a zero-value transfer
 *   replaces the transaction
 * @param isTooMuch returns whether a cost increase in wei exceeds a budget. If it returns true, the
 *   replacement is a zero-value transfer
 * @returns the increase of the highest possible cost, in wei
 */
export async function replace(
  pass: SendPass,
  purse: Purse,
  purpose: Purpose,
  isMoot: boolean,
  isTooMuch: (wei: bigint) => boolean,
): Promise<bigint> {
  const { parts, memory, fence, view } = pass;
  const newest = purpose.transactions.at(-1)!;
  // Most nodes rejected the transaction as too large, so they have no transaction to replace.
  const isNew = memory.sending.hopeless.has(purpose.id);
  const { suggested } = purse;
  const fee = isNew
    ? noLess(newest.fee, suggested)
    : bumpFee(newest.fee, suggested, view.head.baseFee, parts.chain.fees);
  const spoken = computeCostMax(purpose, purse.perByte);
  const computeRaise = (order: Sized) =>
    fee ? computeCost(measureSize(order), fee.maxFee, purse.perByte) - spoken : 0n;
  const isZeroValueTransfer = isMoot || isTooMuch(computeRaise(purpose));
  const order: Order = isZeroValueTransfer
    ? { ...purpose, kind: "fill", ...zeroValueTransfer }
    : purpose;
  const raise = computeRaise(order);
  if (!fee || isTooMuch(raise)) {
    parts.report({ kind: "fee_capped", nonce: purpose.nonce });
    return 0n;
  }
  if (raise > 0n && raise > purse.balance - purse.reserved) {
    parts.report({ kind: "stopped_for_balance" });
    return 0n;
  }
  const signed = await sign(pass, order, fee);
  if (isZeroValueTransfer) memory.sending.hopeless.delete(purpose.id);
  await parts.ledger.addTransaction(fence, purpose.id, signed);
  memory.prices.underpriced.delete(purpose.id);
  await broadcast(pass, purpose, signed);
  parts.report({ kind: "replaced", nonce: purpose.nonce, hash: signed.hash });
  const more = max(raise, 0n);
  reserve(purse, more);
  return more;
}

/**
 * Returns the higher value of each field. Only the newest transaction is sent again, so it must not
 * offer less than older ones.
 */
const noLess = (old: Fee, now: Fee): Fee => ({
  maxFee: max(old.maxFee, now.maxFee),
  priorityFee: max(old.priorityFee, now.priorityFee),
});

/** Thrown if the key failed to sign, now or within the last {@link signerRestMs}. */
export class SignerFailed extends Error {
  override name = "SignerFailed";
}

/** After a key fails to sign, the executor does not use the key for this time. */
const signerRestMs = 15_000;

export const isResting = ({ parts, memory, signer }: SendPass): boolean =>
  parts.clock() < (memory.sending.restingMs.get(signer.address) ?? 0);

async function sign(pass: SendPass, order: Order, fee: Fee) {
  const { parts, memory, signer, view, nowSeconds } = pass;
  if (isResting(pass)) {
    const seconds = signerRestMs / 1000;
    throw new SignerFailed(
      `the signer of ${signer.address} failed less than ${seconds} s ago, so it is not called ` +
        "again yet",
    );
  }
  const isZeroValueTransfer = order.kind === "fill";
  const transaction = {
    chainId: parts.chain.chainId,
    nonce: order.nonce,
    to: isZeroValueTransfer ? signer.address : parts.factory,
    data: order.data,
    gas: order.gas,
    ...fee,
  };
  const raw = await signer.sign(transaction).catch((error: Error) => {
    memory.sending.restingMs.set(signer.address, parts.clock() + signerRestMs);
    const message = `${error.name}: ${error.message}`;
    parts.report({ kind: "signer_failed", sender: signer.address, message });
    throw new SignerFailed(message);
  });
  return {
    hash: keccak256(raw),
    raw,
    fee,
    signedAtSeconds: nowSeconds,
    signedBlock: view.head.number,
    isZeroValueTransfer,
  };
}

type Sent = Pick<Purpose, "id" | "nonce"> & { transactions: readonly { signedBlock: number }[] };

/**
 * Sends a transaction to every endpoint that is allowed to receive it. One endpoint that accepts it
 * is sufficient.
 */
export async function broadcast(
  pass: SendPass,
  purpose: Sent,
  { hash, raw }: { hash: Hex; raw: Hex },
): Promise<void> {
  const { parts, memory, view } = pass;
  const { id, nonce } = purpose;
  memory.sending.sentMs.set(hash, parts.clock());
  const responses = await submit(pass, purpose, [
    { method: "eth_sendRawTransaction", params: [raw] },
  ]);
  const refusals = responses.flatMap(({ rpc, answers }) => {
    const answer = answers?.[0];
    if (!answer || "result" in answer) return [];
    const { error } = answer;
    const kind = classifyError("eth_sendRawTransaction", error);
    // These errors mean that the chain or the node has a transaction with this nonce (settle.ts).
    if (kind === "already_known" || kind === "nonce_used") return [];
    parts.report({ kind: "send_refused", nonce, rpc, message: error.message });
    return [kind];
  });
  // Without relays, a transaction counts as too cheap if a quorum of endpoints rejects it as such.
  // With relays, two rejections are needed, so that a single relay never raises the fee. A
  // transaction that only one relay rejects is replaced later if it is overdue.
  const answered = responses.filter(({ answers }) => answers !== undefined).length;
  const { count } = memory.relays;
  const underpriced = refusals.filter(
    (kind) => kind === "replacement_underpriced" || kind === "fee_too_low",
  ).length;
  if (underpriced >= (count > 0 ? 2 : view.quorum)) memory.prices.underpriced.add(id);
  const quorum = count > 0 ? quorumOf(count) : view.quorum;
  const { hopeless } = memory.sending;
  const overGas = refusals.filter((kind) => kind === "over_block_gas").length;
  if (overGas < quorum || overGas <= answered / 2) hopeless.delete(id);
  else if (!hopeless.has(id)) hopeless.set(id, pass.nowSeconds);
}

/**
 * Sends the calls to all relays. Without relays, or after `sendFallbackBlocks` blocks, also sends
 * the calls to the endpoints.
 */
async function submit(
  { parts, memory, view }: SendPass,
  { transactions }: Sent,
  calls: Call[],
): Promise<RelayAnswer[]> {
  const { relays } = memory;
  const since = transactions[0]?.signedBlock ?? view.head.number;
  const isOpen = view.head.number - since >= (parts.chain.sendFallbackBlocks ?? Infinity);
  const [fromRelays, fromEndpoints] = await Promise.all([
    relays.send(calls),
    relays.count === 0 || isOpen ? view.readEach(calls, () => true) : [],
  ]);
  return [
    ...fromRelays,
    ...fromEndpoints.map((answers, place) => ({ rpc: view.nameOf(place), answers })),
  ];
}

/**
 * How long a key's nonce on chain is cached while no transaction is pending. `asleepNonceMs`
 * applies while the chain sleeps (decide-poll.ts), and `idleNonceMs` applies otherwise.
 */
const idleNonceMs = 60_000;
const asleepNonceMs = 6 * hourMs;

/** Reads the nonce at each new block while a transaction is pending, and less often otherwise. */
export async function readKeyNonce(
  pass: Pass<Pick<SendMemory, "nonces"> & { sleep: { isAsleep: boolean } }>,
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
  pass: Pass<Pick<SendMemory, "nonces">>,
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
