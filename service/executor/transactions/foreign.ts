// Finds transactions of the executor's keys that are missing in the database. To "adopt" such a
// transaction is to save it, so that it is charged like other transactions. Without this search,
// the executor could spend a budget twice after a restore from a backup. Each signature is
// verified. A quorum of endpoints must show that the transaction used the nonce.

import {
  batchSelector,
  decodeExecutions,
  executeSelector,
  type Hex,
  makeRecord,
  recoverSelector,
} from "executable-address";
import { findFirstBlock } from "executable-address/status";
import type { RpcTransaction } from "viem";
import { formatTransaction, keccak256, recoverAddress, serializeTransaction } from "viem/utils";
import {
  blockCall,
  blockOf,
  type Call,
  ChainUnavailable,
  quantity,
  resultOf,
} from "../../chain/rpc/json-rpc.ts";
import { agreed, listAnswers } from "../../chain/rpc/view.ts";
import { nonceCall, type Spender, spendersIn, transactionsCall } from "../../chain/used-nonces.ts";
import { dayOf, daySeconds, midnightAfter } from "../../flow/days.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { min } from "../../flow/numbers.ts";
import { waitUntil } from "../ledger/due.ts";
import type { JobUpdate } from "../ledger/jobs.ts";
import type { NewPurpose, Purpose, Share, SignedTransaction } from "../ledger/purposes.ts";
import { noAccount } from "../ledger/spending.ts";
import { computeCost } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import { gasMax, readNonces, type SendMemory } from "./send.ts";

/**
 * For each key, `count` is the number of used nonces that are missing in the database. The executor
 * searches for the transactions with these nonces. `sinceSeconds` is the time at which the search
 * last found a transaction. If it has found none, `sinceSeconds` is the start of the search.
 */
export type UnknownNonces = {
  unknownNonces: Map<Hex, { count: number; sinceSeconds: number }>;
};

export const openUnknownNonces = (): UnknownNonces => ({ unknownNonces: new Map() });

/**
 * The search finds at most this number of blocks with unknown transactions per pass. It takes about
 * 20 calls to find one block.
 */
const blocksPerPass = 8;

/**
 * If the search finds no transaction within this time, the highest possible cost is charged
 * instead.
 */
const searchSeconds = 60;

/**
 * Saves the transactions of nonces that are used on chain but missing in the database. A quorum of
 * endpoints must report these nonces as used. Skips transactions from earlier days, because the
 * budgets of earlier days no longer matter. Until all transactions are found, the key sends
 * nothing. The highest possible cost is reserved for each unknown nonce.
 *
 * @param nonce the key's nonce on chain
 * @returns whether transactions were saved
 */
export async function adoptUnknown(
  pass: Pass<UnknownNonces & SendMemory>,
  nonce: number,
): Promise<boolean> {
  const { parts, memory, view, signer, nowSeconds } = pass;
  const { unknownNonces: unknown } = memory;
  const own = await parts.ledger.readNextNonce(parts.chain.chainId, signer.address);
  const reached = nonce > own ? (await readNonces(pass))[view.quorum - 1] : nonce;
  if (reached === undefined) return false;
  if (reached <= own) {
    unknown.delete(signer.address);
    return false;
  }
  const sinceSeconds = unknown.get(signer.address)?.sinceSeconds ?? nowSeconds;
  const next = await adoptFrom(pass, own, reached);
  if (next === reached) unknown.delete(signer.address);
  else if (next > own) {
    unknown.set(signer.address, { count: reached - next, sinceSeconds: nowSeconds });
  } else if (nowSeconds - sinceSeconds < searchSeconds) {
    unknown.set(signer.address, { count: reached - own, sinceSeconds });
  } else {
    await writeOff(pass, own, reached);
    unknown.delete(signer.address);
  }
  return next > own;
}

/** @returns the first nonce that is still unknown */
async function adoptFrom(pass: Pass<SendMemory>, own: number, reached: number): Promise<number> {
  const { view } = pass;
  let next = own;
  try {
    const first = await findFirstToday(pass, own);
    if (first.nonce > own) await recordForeign(pass, first.nonce - 1, 0n, []);
    next = first.nonce;
    let { block } = first;
    for (let blocks = 0; next < reached && blocks < blocksPerPass; blocks++) {
      const nonce = next;
      const isSpent = async (number: number) => (await readNonceAt(pass, number)) > nonce;
      // Each endpoint reports the nonce at its own newest block, so `reached` may be higher than
      // the nonce at `view.head`.
      if (!(await isSpent(view.head.number))) break;
      block = await findFirstBlock({ from: block, to: view.head.number }, isSpent);
      const found = (await readSpenders(pass, block))?.filter((each) => each.nonce >= nonce);
      if (found?.[0]?.nonce !== nonce) break;
      for (const each of found) {
        await recordSpender(pass, each, block, []);
        next = each.nonce + 1;
      }
    }
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
  }
  return next;
}

/** Finds the first block today at which the key's nonce is higher than `own`. */
async function findFirstToday(
  pass: Pass<SendMemory>,
  own: number,
): Promise<{ block: number; nonce: number }> {
  const { view, signer } = pass;
  const midnight = midnightAfter(view.head.timestamp) - daySeconds;
  const block = await findFirstBlock({ from: 0, to: view.head.number }, async (number) => {
    const calls = [nonceCall(signer.address, number), blockCall(number)];
    const what =
      `whether the nonce of ${signer.address} at block ${number} is above ${own} and ` +
      `block ${number} is from today`;
    return readAgreed(view, what, calls, ([count, header]) => {
      return Number(quantity(count)) > own && blockOf(header).timestamp >= midnight;
    });
  });
  const before = block === 0 ? 0 : await readNonceAt(pass, block - 1);
  return { block, nonce: Math.max(own, before) };
}

/**
 * Ends the search for the transactions with the nonces from `own` to `reached - 1`. Charges their
 * highest possible cost, but at most the rest of the day's budget.
 */
async function writeOff(pass: Pass<SendMemory>, own: number, reached: number): Promise<void> {
  const { parts, view, signer } = pass;
  const { chainId, budgets } = parts.chain;
  const count = reached - own;
  const spent = await parts.ledger.readSpending(chainId, dayOf(view.head.timestamp));
  const left = budgets.perDayMax > spent ? budgets.perDayMax - spent : 0n;
  const cap = BigInt(count) * computeNonceCostMax(pass);
  const wei = min(cap, left);
  await recordForeign(pass, reached - 1, wei, []);
  parts.report({ kind: "nonces_written_off", sender: signer.address, count, wei });
}

/** Returns the highest possible cost of one transaction, in wei. */
export function computeNonceCostMax(pass: Pass<SendMemory>): bigint {
  const { parts, memory } = pass;
  const size = { gas: gasMax(pass), bytes: parts.tuning.batchBytesMax };
  return computeCost(size, parts.chain.fees.perGasMax, memory.prices.dataFee.perByte);
}

/**
 * Searches for an unknown transaction that used the nonce of `purpose`, and adopts this
 * transaction. Afterwards, other transactions can handle the jobs of `purpose`. Call this function
 * only if no known transaction with this nonce has a receipt.
 *
 * @returns false if the transaction is already known, has too few confirmations, or has no quorum
 * @throws {ChainUnavailable} if too few endpoints agree on the nonce at a block
 */
export async function adoptReplacement(pass: Pass<SendMemory>, purpose: Purpose): Promise<boolean> {
  const { view, parts, nowSeconds } = pass;
  const deepest = view.head.number - parts.chain.confirmations;
  const isSpent = async (block: number) => (await readNonceAt(pass, block)) > purpose.nonce;
  if (deepest < 0 || !(await isSpent(deepest))) return false;
  const block = await findFirstBlock({ from: 0, to: deepest }, isSpent);
  const spenders = await readSpenders(pass, block);
  const found = spenders?.find(({ nonce }) => nonce === purpose.nonce);
  if (!found || purpose.transactions.some(({ hash }) => hash === found.hash)) return false;
  const updates = purpose.addresses.map((address) => waitUntil(address, nowSeconds, "nonce_taken"));
  const isSigned = await recordSpender(pass, found, block, updates);
  if (!isSigned) parts.report({ kind: "nonce_foreign", nonce: purpose.nonce, hash: found.hash });
  return true;
}

function readNonceAt({ view, signer }: Pass<SendMemory>, block: number): Promise<number> {
  const what = `the nonce of ${signer.address} at block ${block}`;
  return readAgreed(view, what, [nonceCall(signer.address, block)], ([count]) =>
    Number(quantity(count)),
  );
}

/**
 * Reads a value with a quorum, because a single endpoint could hide transactions.
 *
 * @param what the value, for the error message
 * @throws {ChainUnavailable} if there is no such value
 */
async function readAgreed<Value extends number | boolean>(
  view: Pass["view"],
  what: string,
  calls: readonly Call[],
  read: (results: unknown[]) => Value,
): Promise<Value> {
  const lists = await view.readEach([...calls]);
  const values = lists.map((list) => {
    try {
      return list && read(list.map((answer, i) => resultOf(answer, calls[i]!.method)));
    } catch {
      return undefined;
    }
  });
  const votes = values.map((value) => (value === undefined ? undefined : `${value}`));
  const places = agreed(votes, view.quorum);
  if (places && places.length >= view.quorum) return values[places[0]!]!;
  throw new ChainUnavailable(
    `${what}: expected the same answer from ${view.quorum} endpoints, found ` +
      listAnswers(view, votes),
  );
}

/**
 * Reads the key's transactions in a block, sorted by nonce; undefined if too few endpoints agree.
 */
async function readSpenders({ view, signer }: Pass, block: number) {
  const lists = await view.readEach([transactionsCall(block)]);
  const shown = lists.map((list) => {
    const answer = list?.[0];
    return answer && "result" in answer ? spendersIn(answer.result, signer.address) : undefined;
  });
  const votes = shown.map((each) => each && JSON.stringify(each.map(({ hash }) => hash)));
  const places = agreed(votes, view.quorum);
  return places && places.length >= view.quorum ? shown[places[0]!] : undefined;
}

type Adopted = { purpose: NewPurpose; signed: SignedTransaction };

/**
 * Converts a transaction to the form in which it is saved. Returns undefined if the key has not
 * signed it.
 */
async function describe(
  pass: Pass<SendMemory>,
  shown: unknown,
  block: number,
): Promise<Adopted | undefined> {
  const { signer, nowSeconds } = pass;
  const transaction = await readSigned(shown, signer.address);
  if (!transaction) return undefined;
  const { hash, raw, nonce, to, data, gas, fee } = transaction;
  const purpose = {
    ...{ sender: signer.address, nonce, data, gas, createdAtSeconds: nowSeconds },
    ...(await describeCall(pass, transaction)),
  };
  const isZeroValueTransfer = data === "0x" && to === signer.address;
  const signedBlock = Math.max(0, block - 1);
  return {
    purpose,
    signed: { hash, raw, fee, signedAtSeconds: nowSeconds, signedBlock, isZeroValueTransfer },
  };
}

type Shown = Pick<SignedTransaction, "hash" | "raw" | "fee"> &
  Pick<NewPurpose, "nonce" | "data" | "gas"> & { to: Hex | undefined };

async function readSigned(shown: unknown, sender: Hex): Promise<Shown | undefined> {
  try {
    const { input: data, r, s, v, yParity, ...rest } = formatTransaction(shown as RpcTransaction);
    const { hash, nonce, gas, to } = rest;
    const unsigned = { ...rest, data } as Parameters<typeof serializeTransaction>[0];
    const signature = { r, s, v, yParity } as Parameters<typeof serializeTransaction>[1] & object;
    const raw = serializeTransaction(unsigned, signature);
    const signer = await recoverAddress({
      hash: keccak256(serializeTransaction(unsigned)),
      signature: signature as { r: Hex; s: Hex; yParity: number },
    });
    if (hash === null || keccak256(raw) !== hash || signer.toLowerCase() !== sender) {
      return undefined;
    }
    const maxFee = rest.maxFeePerGas ?? rest.gasPrice ?? 0n;
    const fee = { maxFee, priorityFee: rest.maxPriorityFeePerGas ?? maxFee };
    const receiver = to ? lowerAddress(to) : undefined;
    return { hash, raw, fee, nonce, data, gas: Number(gas), to: receiver };
  } catch {
    // A field is missing or malformed, or the transaction type is unknown.
    return undefined;
  }
}

/**
 * Returns the kind and the payers of a transaction. The creators of the addresses pay for a call to
 * the factory. The chain's budget pays for any other transaction.
 */
async function describeCall(
  { parts }: Pass,
  { to, data, gas }: Shown,
): Promise<Pick<NewPurpose, "kind" | "shares">> {
  const vaults = to === parts.factory ? readVaults(data, parts.factory) : undefined;
  if (!vaults || vaults.addresses.length === 0) return { kind: "fill", shares: [] };
  const { kind, addresses } = vaults;
  const records = await parts.ledger.findRecords(addresses);
  const payers = new Map(records.map((each) => [each.address, each]));
  const shares = addresses.map((address): Share => {
    const { accountId = noAccount, isClientId = false } = payers.get(address) ?? {};
    // With `isTipped: false`, the cost counts toward the usual budgets, not the limits on losses.
    return {
      address,
      gas: Math.floor(gas / addresses.length),
      accountId,
      isClientId,
      isTipped: false,
    };
  });
  return { kind, shares };
}

function readVaults(data: Hex, factory: Hex) {
  const selectors: string[] = [executeSelector, recoverSelector, batchSelector];
  if (!selectors.includes(data.slice(0, 10))) return undefined;
  try {
    const calls = decodeFactoryCalls(data, factory);
    const valid = calls.flatMap((each) => ("error" in each ? [] : [each]));
    const kind = valid.every(({ name }) => name === "execute") ? "execute" : "recover";
    return { kind, addresses: [...new Set(valid.map(({ vault }) => vault))] } as const;
  } catch {
    return undefined;
  }
}

/**
 * Adopts a transaction that the key has signed. Any other transaction is a deposit from another
 * chain. A deposit pays no gas on this chain, so only its nonce is recorded.
 *
 * @returns whether the key has signed the transaction
 */
async function recordSpender(
  pass: Pass<SendMemory>,
  { nonce, shown }: Spender,
  block: number,
  updates: readonly JobUpdate[],
): Promise<boolean> {
  const adopted = await describe(pass, shown, block);
  if (adopted) await adopt(pass, adopted, updates);
  else await recordForeign(pass, nonce, 0n, updates);
  return adopted !== undefined;
}

async function adopt(
  { parts, memory, fence }: Pass<SendMemory>,
  { purpose, signed }: Adopted,
  updates: readonly JobUpdate[],
): Promise<void> {
  await parts.ledger.adoptPurpose(fence, purpose, signed, updates);
  // The adoption counts as a broadcast, because the nodes already have the transaction.
  memory.sending.sentMs.set(signed.hash, parts.clock());
  parts.report({ kind: "nonce_foreign", nonce: purpose.nonce, hash: signed.hash });
}

function recordForeign(
  { parts, fence, view, signer, nowSeconds }: Pass,
  nonce: number,
  wei: bigint,
  updates: readonly JobUpdate[],
): Promise<void> {
  const at = { createdAtSeconds: nowSeconds, chargedAtSeconds: view.head.timestamp };
  return parts.ledger.recordForeign(fence, { sender: signer.address, nonce, wei, ...at, updates });
}

/**
 * Returns the name and the address of each call in `data`, in order. For an invalid item of a
 * batch, returns the item's error.
 *
 * @param data calldata of one call or of a batch
 * @returns `vault` is lowercase
 * @throws {InvalidError} if `data` is not calldata of the factory
 */
export const decodeFactoryCalls = (data: Hex, factory: Hex) =>
  decodeExecutions(data).map((call) => {
    if ("error" in call) return call;
    return { name: call.name, vault: lowerAddress(makeRecord(call.intent, { factory }).address) };
  });
