// Sends transactions: signs, stores, and only then broadcasts, so that the ledger knows of every
// transaction that any node may have.

import type { Hex } from "executable-address";
import { keccak256, size } from "viem/utils";
import { type Call, ChainUnavailable, quantity, resultOf } from "../../chain/rpc/json-rpc.ts";
import type { RelayAnswer, Relays } from "../../chain/rpc/network.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import { middle, readAnswers, upperMiddle } from "../../chain/rpc/view.ts";
import type { Purpose, Share } from "../ledger/purposes.ts";
import {
  baseFeeAfter,
  bumpFee,
  costOf,
  type DataFee,
  dataFeeCall,
  dataFeeOf,
  type Fee,
  feeHistoryCall,
  gasPriceCall,
  isFree,
  max,
  nextBaseFeeOf,
  priceDemanded,
  priorityAsked,
  type Size,
  suggestFee,
  unknownDataFee,
  weighDataFee,
} from "../money/fees.ts";
import type { Pass } from "../pass.ts";

export type SendMemory = {
  sending: {
    /** By key that failed to sign: when it can be asked again. */
    restingMs: Map<Hex, number>;
    dataFee: DataFee;
    /** By transaction hash: when it was last broadcast. */
    sentMs: Map<Hex, number>;
    /** IDs of purposes whose transactions enough endpoints refused as too cheap. */
    underpriced: Set<string>;
    /** By purpose whose transaction is refused as too large for any block: since which second. */
    hopeless: Map<string, number>;
  };
  /** By key: its nonce on chain, the head at which it was read, and when. */
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

/** The pass of a function that signs or broadcasts. */
export type SendPass = Pass<SendMemory & { relays: Relays }>;

/**
 * A transfer of nothing to oneself takes so much. It fills a gap, or replaces a transaction that
 * has become pointless.
 */
export const idleGas = 21_000;
const nothing = { data: "0x", gas: idleGas } as const;

/** EIP-7825: no chain's block holds a transaction of more gas. */
const transactionGasMax = 16_777_216n;

/** The gas that a transaction may be given now: by the chain, and by the operator. */
export function gasMax({ view, parts }: Pick<Pass, "view" | "parts">): number {
  const { gasLimit } = view.head;
  const chains = Number(gasLimit < transactionGasMax ? gasLimit : transactionGasMax);
  return Math.min(chains, parts.tuning.batchGasMax);
}

/**
 * The costs of sending and the money to pay them with, as of one pass, in wei. A byte of calldata
 * costs `perByte` at most. Transactions that are not mined yet may cost `reserved`.
 */
export type Purse = {
  suggested: Fee;
  neededPerGas: bigint;
  /** Per gas, of the block that comes next. */
  nextBaseFee: bigint;
  perByte: bigint;
  /** Endpoints show it: the middle is taken, of two that differ the greater. */
  balance: bigint;
  /** The same, but of two that differ the lesser is taken. */
  balanceSure: bigint;
  reserved: bigint;
};

/** Reads nothing until it is first asked. */
export function openPurse(pass: SendPass, unmined: readonly Purpose[]): () => Promise<Purse> {
  let purse: Promise<Purse> | undefined;
  return () => {
    purse ??= readPurse(pass, unmined);
    return purse;
  };
}

/** The greater of two balances is tried: a send that it does not cover is refused free. */
async function readPurse(pass: SendPass, unmined: readonly Purpose[]): Promise<Purse> {
  const { parts, memory, view, signer } = pass;
  const nowMs = parts.clock();
  // Asked last, and only once enough endpoints have refused a transaction as too cheap.
  const isTooCheap = memory.sending.underpriced.size > 0;
  const calls = [
    { method: "eth_getBalance", params: [signer.address, view.at] },
    feeHistoryCall,
    ...(isFree(memory.sending.dataFee, nowMs) ? [] : [dataFeeCall(view.at)]),
    ...(isTooCheap ? [gasPriceCall] : []),
  ];
  const lists = await view.readEach(calls);
  const balances = readAnswers(lists, 0, quantity);
  const [balance, balanceSure] = [upperMiddle(balances), middle(balances)];
  if (balance === undefined || balanceSure === undefined) {
    throw new ChainUnavailable("no endpoint answers eth_getBalance");
  }
  const { baseFee } = view.head;
  const prices = isTooCheap ? readAnswers(lists, calls.length - 1, quantity) : [];
  const demanded = priceDemanded(prices, view.quorum) - baseFee;
  const asked = max(demanded, middle(readAnswers(lists, 1, priorityAsked)) ?? 0n);
  const { fee, neededPerGas } = suggestFee(baseFee, asked, parts.chain.fees);
  const nextBaseFee = nextBaseFeeOf(baseFee, middle(readAnswers(lists, 1, baseFeeAfter)));
  if (!isFree(memory.sending.dataFee, nowMs)) {
    const bounds = readAnswers(lists, 2, (result) => dataFeeOf(result) ?? 0n);
    memory.sending.dataFee = weighDataFee(memory.sending.dataFee, bounds, {
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
    reserved: unmined.reduce((sum, purpose) => sum + costMax(purpose, perByte), 0n),
  };
}

/** How much gas costs as much as a byte. */
export const gasPerByte = ({ perByte, suggested }: Purse): number =>
  suggested.maxFee === 0n ? 0 : Number(perByte) / Number(suggested.maxFee);

type Sized = Pick<Order, "gas" | "data">;
export const sizeOf = ({ gas, data }: Sized) => ({ gas, bytes: size(data) });

/** Computes what the dearest of a purpose's transactions may cost. @param perByte as of now */
export function costMax({ transactions, ...purpose }: Purpose, perByte: bigint): bigint {
  const costs = transactions.map(({ isFill, fee }) =>
    costOf(sizeOf(isFill ? nothing : purpose), fee.maxFee, perByte),
  );
  return costs.reduce(max, 0n);
}

/** Whether one more fits, with as much again left to replace it: else its nonce could strand. */
export function canAfford({ balance, reserved, suggested, perByte }: Purse, size: Size): boolean {
  return balance >= reserved + 2n * costOf(size, suggested.maxFee, perByte);
}

/** The same by what no endpoint contradicts. */
export const surelyAffords = (purse: Purse, size: Size): boolean =>
  canAfford({ ...purse, balance: purse.balanceSure }, size);

export type Order = {
  kind: Purpose["kind"];
  nonce: number;
  data: Hex;
  gas: number;
  shares: readonly Share[];
};

/**
 * Signs, stores, broadcasts. The caller has checked {@link canAfford}.
 * @throws {SignerFailed} before anything is stored
 */
export async function send(pass: SendPass, purse: Purse, order: Order): Promise<void> {
  const { parts, fence, nowSeconds } = pass;
  const fee = purse.suggested;
  const signed = await sign(pass, order, fee);
  const purpose = { ...order, sender: pass.signer.address, createdAtSeconds: nowSeconds };
  const id = await parts.ledger.openPurpose(fence, purpose, signed);
  purse.reserved += costOf(sizeOf(order), fee.maxFee, purse.perByte);
  await broadcast(pass, { id, nonce: order.nonce, transactions: [signed] }, signed);
  const { kind, nonce, shares } = order;
  const sent = { kind: "sent" as const, purpose: kind, nonce, hash: signed.hash };
  parts.report({ ...sent, addresses: shares.length });
}

/**
 * Takes the place of what was sent for `purpose`, at its nonce, for at least an eighth more. What
 * the key cannot pay for stays as it is, since nodes would refuse it.
 *
 * @param isMoot nothing of it can succeed any more: the nonce is spent on nothing instead
 * @param isTooMuch whether a budget refuses so many wei more: then its nonce is given back
 * @returns wei that it may take more than before
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
  // A transaction that no node took into its pool need not be outbid.
  const isNew = memory.sending.hopeless.has(purpose.id);
  const { suggested } = purse;
  const fee = isNew
    ? noLess(newest.fee, suggested)
    : bumpFee(newest.fee, suggested, view.head.baseFee, parts.chain.fees);
  const spoken = costMax(purpose, purse.perByte);
  const raiseOf = (order: Sized) =>
    fee ? costOf(sizeOf(order), fee.maxFee, purse.perByte) - spoken : 0n;
  const isIdle = isMoot || isTooMuch(raiseOf(purpose));
  const order: Order = isIdle ? { ...purpose, kind: "fill", ...nothing } : purpose;
  const raise = raiseOf(order);
  if (!fee || isTooMuch(raise)) {
    parts.report({ kind: "fee_capped", nonce: purpose.nonce });
    return 0n;
  }
  if (raise > 0n && raise > purse.balance - purse.reserved) {
    parts.report({ kind: "stopped_for_balance" });
    return 0n;
  }
  const signed = await sign(pass, order, fee);
  if (isIdle) memory.sending.hopeless.delete(purpose.id);
  await parts.ledger.addTransaction(fence, purpose.id, signed);
  memory.sending.underpriced.delete(purpose.id);
  await broadcast(pass, purpose, signed);
  parts.report({ kind: "replaced", nonce: purpose.nonce, hash: signed.hash });
  const more = max(raise, 0n);
  purse.reserved += more;
  return more;
}

/** The newest transaction of a purpose offers the most: it is the one that is sent again. */
const noLess = (old: Fee, now: Fee): Fee => ({
  maxFee: max(old.maxFee, now.maxFee),
  priorityFee: max(old.priorityFee, now.priorityFee),
});

/** The key did not sign, or did not a moment ago: it rests. */
export class SignerFailed extends Error {
  override name = "SignerFailed";
}

/** A key that did not sign is asked again after so long. */
const signerRestMs = 15_000;

export const isResting = ({ parts, memory, signer }: SendPass): boolean =>
  parts.clock() < (memory.sending.restingMs.get(signer.address) ?? 0);

async function sign(pass: SendPass, order: Order, fee: Fee) {
  const { parts, memory, signer, view, nowSeconds } = pass;
  if (isResting(pass)) throw new SignerFailed(`${signer.address} rests`);
  const isIdle = order.kind === "fill";
  const transaction = {
    chainId: parts.chain.chainId,
    nonce: order.nonce,
    to: isIdle ? signer.address : parts.factory,
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
    isFill: isIdle,
  };
}

type Sent = Pick<Purpose, "id" | "nonce"> & { transactions: readonly { signedBlock: number }[] };

/** Sends to every endpoint that may have it: it is enough that one of them takes it. */
export async function broadcast(
  pass: SendPass,
  purpose: Sent,
  { hash, raw }: { hash: Hex; raw: Hex },
): Promise<void> {
  const { parts, memory, view } = pass;
  const { id, nonce } = purpose;
  memory.sending.sentMs.set(hash, parts.clock());
  const told = await tell(pass, purpose, [{ method: "eth_sendRawTransaction", params: [raw] }]);
  const refusals = told.flatMap(({ rpc, answers }) => {
    const answer = answers?.[0];
    if (!answer || "result" in answer) return [];
    const { error } = answer;
    const kind = classifyError("eth_sendRawTransaction", error);
    // Settling finds out by which transaction the nonce was used.
    if (kind === "already_known" || kind === "nonce_used") return [];
    parts.report({ kind: "send_refused", nonce, rpc, message: error.message });
    return [kind];
  });
  // One refusal is not enough, unless there is no other endpoint. A lone relay's word raises no
  // fee: where it is right, the transaction is stuck, and is replaced for that.
  const heard = told.filter(({ answers }) => answers !== undefined).length;
  const { count } = memory.relays;
  const underpriced = refusals.filter(
    (kind) => kind === "replacement_underpriced" || kind === "fee_too_low",
  ).length;
  if (underpriced >= (count > 0 ? 2 : view.quorum)) memory.sending.underpriced.add(id);
  const quorum = count > 0 ? Math.min(2, count) : view.quorum;
  const { hopeless } = memory.sending;
  const overGas = refusals.filter((kind) => kind === "over_block_gas").length;
  if (overGas < quorum || overGas <= heard / 2) hopeless.delete(id);
  else if (!hopeless.has(id)) hopeless.set(id, pass.nowSeconds);
}

/** Relays hear of it first; the chain's endpoints never, unless the operator lets them. */
async function tell(
  { parts, memory, view }: SendPass,
  { transactions }: Sent,
  calls: Call[],
): Promise<RelayAnswer[]> {
  const { relays } = memory;
  const since = transactions[0]?.signedBlock ?? view.head.number;
  const isOpen = view.head.number - since >= (parts.chain.sendFallbackBlocks ?? Infinity);
  const [told, heard] = await Promise.all([
    relays.tell(calls),
    relays.count === 0 || isOpen ? view.readEach(calls) : [],
  ]);
  return [...told, ...heard.map((answers, place) => ({ rpc: `${place}`, answers }))];
}

/** The sender's nonce in the state after `view.head`. */
export async function readNonce({ signer, view }: Pick<Pass, "signer" | "view">): Promise<number> {
  const params = [signer.address, view.at];
  const [answer] = await view.read([{ method: "eth_getTransactionCount", params }]);
  return Number(quantity(resultOf(answer)));
}

/** Reads the nonce that each endpoint shows at its own head, highest first. */
export async function readNonces({
  signer,
  view,
}: Pick<Pass, "signer" | "view">): Promise<number[]> {
  const params = [signer.address, "latest"];
  const answers = await view.readEach([{ method: "eth_getTransactionCount", params }]);
  return readAnswers(answers, 0, (result) => Number(quantity(result))).sort((a, b) => b - a);
}

/**
 * Reads the nonce to use next, which is the ledger's. The next pass adopts transactions that the
 * ledger does not know.
 * @returns why there is none: the chain is ahead of the ledger, or too few endpoints answer
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
  // With one endpoint silent, the other suffices where it does not contradict the ledger.
  return nonces.length > 0 && nonces[0]! <= own ? own : "endpoints_disagree_on_nonce";
}
