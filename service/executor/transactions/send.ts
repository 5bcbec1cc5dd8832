// Sends transactions. Each signed transaction is saved before it is broadcast. The database
// therefore contains every broadcast transaction.

import type { Hex } from "executable-address";
import { keccak256, size } from "viem/utils";
import { transactionGasMin } from "../../chain/execution-gas.ts";
import { type Call, ChainUnavailable, quantity, resultOf } from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import type { RelayAnswer, Relays } from "../../chain/rpc/relays.ts";
import { listAnswers, readAnswers } from "../../chain/rpc/view.ts";
import { lowerMedian, upperMedian } from "../../flow/median.ts";
import type { NewPurpose, Purpose, Share } from "../ledger/purposes.ts";
import {
  boundNextBaseFee,
  bumpFee,
  computeCost,
  type DataFee,
  dataFeeCall,
  type Fee,
  feeHistoryCall,
  findDemandedPrice,
  gasPriceCall,
  isFree,
  max,
  mergeDataFees,
  min,
  parseDataFee,
  parseNextBaseFee,
  parsePriorityFee,
  type Size,
  suggestFee,
  unknownDataFee,
} from "../money/fees.ts";
import type { Pass } from "../pass.ts";

export type SendMemory = {
  sending: {
    /** The time at which a key is used again, for each key that failed to sign. */
    restingMs: Map<Hex, number>;
    dataFee: DataFee;
    /** When this process last broadcast or adopted each transaction, by transaction hash. */
    sentMs: Map<Hex, number>;
    /** A purpose ID is added when enough endpoints have rejected its transaction as too cheap. */
    underpriced: Set<string>;
    /**
     * The purpose IDs of the transactions that nodes rejected as too large for any block. The value
     * is the time of the first rejection in seconds.
     */
    hopeless: Map<string, number>;
  };
  /** Each key's nonce on chain, and the block and the time at which it was read. */
  nonces: Map<Hex, { value: number; head: Hex; sinceMs: number }>;
};

export const openSendMemory = (): SendMemory => ({
  sending: {
    restingMs: new Map(),
    dataFee: unknownDataFee,
    sentMs: new Map(),
    underpriced: new Set(),
    hopeless: new Map(),
  },
  nonces: new Map(),
});

export type SendPass = Pass<SendMemory & { relays: Relays }>;

/**
 * A zero-value transfer from a key to itself. It fills a nonce gap, or replaces a transaction that
 * is useless or whose higher fee would exceed a budget.
 */
export const zeroValueTransfer = { data: "0x", gas: transactionGasMin } as const;

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

/** A key's balance, and the current costs of a transaction, in wei. */
export type Purse = {
  suggested: Fee;
  /** The lowest fee per gas that is sufficient now. */
  neededPerGas: bigint;
  /** The base fee per gas of the next block. */
  nextBaseFee: bigint;
  /** The maximum fee for a byte of calldata. */
  perByte: bigint;
  /** The median of the reported balances, or the higher of two balances. */
  balance: bigint;
  /** The median of the reported balances, or the lower of two balances. */
  balanceSure: bigint;
  /** The highest possible cost of the key's transactions that are not mined yet. */
  reserved: bigint;
};

/**
 * Reads a key's balance and the current costs. If endpoints report different balances, returns a
 * higher one (`balance`) and a lower one (`balanceSure`). `balance` decides whether the key can
 * send. A balance that is too high does no harm, because a rejected transaction costs nothing. Keys
 * with enough `balanceSure` send first, and `balanceSure` is reported to operators.
 */
export async function readPurse(pass: SendPass, unmined: readonly Purpose[]): Promise<Purse> {
  const { parts, memory, view, signer } = pass;
  const nowMs = parts.clock();
  // The gas price is requested only while enough endpoints reject a transaction as too cheap.
  const isTooCheap = memory.sending.underpriced.size > 0;
  const calls = [
    { method: "eth_getBalance", params: [signer.address, view.at] },
    feeHistoryCall,
    ...(isFree(memory.sending.dataFee, nowMs) ? [] : [dataFeeCall(view.at)]),
    ...(isTooCheap ? [gasPriceCall] : []),
  ];
  const lists = await view.readEach(calls);
  const balances = readAnswers(lists, 0, quantity);
  const [balance, balanceSure] = [upperMedian(balances), lowerMedian(balances)];
  if (balance === undefined || balanceSure === undefined) {
    const found = lists.map((list) => list && JSON.stringify(list[0])?.slice(0, 100));
    throw new ChainUnavailable(
      `expected the balance of ${signer.address} at block ${view.head.number}, found ` +
        listAnswers(view, found),
    );
  }
  const { baseFee } = view.head;
  const prices = isTooCheap ? readAnswers(lists, calls.length - 1, quantity) : [];
  const demanded = findDemandedPrice(prices, view.quorum) - baseFee;
  const priority = max(demanded, lowerMedian(readAnswers(lists, 1, parsePriorityFee)) ?? 0n);
  const { fee, neededPerGas } = suggestFee(baseFee, priority, parts.chain.fees);
  const nextBaseFee = boundNextBaseFee(
    baseFee,
    lowerMedian(readAnswers(lists, 1, parseNextBaseFee)),
  );
  if (!isFree(memory.sending.dataFee, nowMs)) {
    const bounds = readAnswers(lists, 2, (result) => parseDataFee(result) ?? 0n);
    memory.sending.dataFee = mergeDataFees(memory.sending.dataFee, bounds, {
      quorum: view.quorum,
      nowMs,
    });
  }
  const { perByte } = memory.sending.dataFee;
  const isLow = balanceSure < parts.chain.balanceWarnBelow;
  parts.report({ kind: "balance", sender: signer.address, wei: balanceSure, isLow });
  return {
    suggested: fee,
    neededPerGas,
    nextBaseFee,
    perByte,
    balance,
    balanceSure,
    reserved: unmined.reduce((sum, purpose) => sum + computeCostMax(purpose, perByte), 0n),
  };
}

/** Returns the fee for one byte of calldata, in gas. */
export const computeGasPerByte = ({ perByte, suggested }: Purse): number =>
  suggested.maxFee === 0n ? 0 : Number(perByte) / Number(suggested.maxFee);

type Sized = Pick<Order, "gas" | "data">;
export const measureSize = ({ gas, data }: Sized) => ({ gas, bytes: size(data) });

/**
 * Returns the highest possible cost of the transactions with one nonce, in wei. Only one of these
 * transactions can be mined.
 *
 * @param perByte the current fee for a byte
 */
export function computeCostMax({ transactions, ...purpose }: Purpose, perByte: bigint): bigint {
  const costs = transactions.map(({ isZeroValueTransfer, fee }) =>
    computeCost(
      measureSize(isZeroValueTransfer ? zeroValueTransfer : purpose),
      fee.maxFee,
      perByte,
    ),
  );
  return costs.reduce(max, 0n);
}

/** Returns whether the balance pays for another transaction, including a replacement. */
export function canAfford({ balance, reserved, suggested, perByte }: Purse, size: Size): boolean {
  return balance >= reserved + 2n * computeCost(size, suggested.maxFee, perByte);
}

/** Does the same as {@link canAfford}, but uses the lower of two reported balances. */
export const surelyAffords = (purse: Purse, size: Size): boolean =>
  canAfford({ ...purse, balance: purse.balanceSure }, size);

export type Order = {
  kind: Purpose["kind"];
  nonce: number;
  data: Hex;
  gas: number;
  shares: readonly Share[];
  named?: NewPurpose["named"];
};

/**
 * Signs, stores, and broadcasts a transaction. The caller must check {@link canAfford} first.
 *
 * @throws {SignerFailed} before anything is stored
 */
export async function send(pass: SendPass, purse: Purse, order: Order): Promise<void> {
  const { parts, fence, nowSeconds } = pass;
  const fee = purse.suggested;
  const signed = await sign(pass, order, fee);
  const purpose = { ...order, sender: pass.signer.address, createdAtSeconds: nowSeconds };
  const id = await parts.ledger.openPurpose(fence, purpose, signed);
  purse.reserved += computeCost(measureSize(order), fee.maxFee, purse.perByte);
  await broadcast(pass, { id, nonce: order.nonce, transactions: [signed] }, signed);
  const { kind, nonce, shares } = order;
  const sent = { kind: "sent" as const, purpose: kind, nonce, hash: signed.hash };
  parts.report({ ...sent, addresses: shares.length });
}

/**
 * Replaces the transaction of `purpose`, at the same nonce, with a fee at least an eighth higher.
 * The fee need not be higher if most nodes rejected the transaction as too large. Sends nothing if
 * the fee or cost exceeds a limit, or if the key cannot pay.
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
  memory.sending.underpriced.delete(purpose.id);
  await broadcast(pass, purpose, signed);
  parts.report({ kind: "replaced", nonce: purpose.nonce, hash: signed.hash });
  const more = max(raise, 0n);
  purse.reserved += more;
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

/** The time after which a key that failed to sign is used again. */
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
  // Without relays, a quorum of endpoints must reject a transaction as too cheap. With relays, two
  // rejections are needed, so that a single relay never raises the fee. A transaction that only one
  // relay rejects is replaced later if it is overdue.
  const answered = responses.filter(({ answers }) => answers !== undefined).length;
  const { count } = memory.relays;
  const underpriced = refusals.filter(
    (kind) => kind === "replacement_underpriced" || kind === "fee_too_low",
  ).length;
  if (underpriced >= (count > 0 ? 2 : view.quorum)) memory.sending.underpriced.add(id);
  const quorum = count > 0 ? Math.min(2, count) : view.quorum;
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
  return [...fromRelays, ...fromEndpoints.map((answers, place) => ({ rpc: `${place}`, answers }))];
}

/** Reads the key's nonce after the block `view.head`. */
export async function readNonce({ signer, view }: Pick<Pass, "signer" | "view">): Promise<number> {
  const params = [signer.address, view.at];
  const method = "eth_getTransactionCount";
  const [answer] = await view.read([{ method, params }]);
  return Number(quantity(resultOf(answer, method)));
}

/**
 * Reads the key's nonce from each endpoint, at the endpoint's newest block, highest nonce first.
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
  pass: SendPass,
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
  // A single answer suffices if no answer exceeds the database's next nonce.
  return nonces.length > 0 && nonces[0]! <= own ? own : "endpoints_disagree_on_nonce";
}
