// Sends a launch's transactions, and waits until they are mined. Sends a transaction again if the
// endpoint has lost it. Raises the fee (sign.ts) if the transaction is not mined.
//
// No step takes effect twice. The nonce of each transaction is one higher than the nonce of the
// newest mined transaction. All pending transactions have the same nonce, so at most one can be
// mined. The launch does not repeat a successful transaction with the same recipient, value, and
// calldata. Otherwise, an endpoint that lags behind could cause the launch to repeat a step.

import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "executable-address";
import { findFirstBlock, isSame, toQuantity } from "executable-address/status";
import { deterministicDeployer } from "executable-address-contracts";
import { keccak256, parseTransaction } from "viem/utils";
import { StepError } from "../chain/bring.ts";
import type { ChainRpc } from "../chain/rpc/chain-rpc.ts";
import {
  type Block,
  blockCall,
  blockOf,
  CallRefused,
  ChainUnavailable,
  quantity,
} from "../chain/rpc/json-rpc.ts";
import { classifyError } from "../chain/rpc/node-errors.ts";
import { nonceCall, spendersIn, transactionsCall } from "../chain/used-nonces.ts";
import type { Receipt } from "../executor/transactions/receipt.ts";
import {
  changeSent,
  codeAfter,
  describeSent,
  hasSameEffect,
  type Journal,
  noteReceipt,
  type Sent,
  signedFor,
} from "./journal.ts";
import { feeOf, raise, type Signing, storeNew } from "./sign.ts";

export type Sending = Signing & {
  /**
   * Reads a receipt. Returns undefined unless at least two endpoints return the same receipt. If
   * the chain has only one endpoint, its receipt is sufficient.
   */
  readReceipt(hash: Hex): Promise<Receipt | undefined>;
  pollMs: number;
};

/**
 * Thrown if the nonce of the launch's transaction was used by another transaction of the wallet.
 */
class NonceTaken extends StepError {}

/** Thrown if the endpoints refuse a transaction, which is then probably not in any mempool. */
class SendRefused extends CallRefused {}
class NotSent extends StepError {}

/**
 * Returns a `request` function that sends transactions reliably. `eth_sendRawTransaction` stores
 * the transaction, sends it, and waits until it is mined. The result is the hash of the mined
 * version, which can have a higher fee. For the wallet, `eth_getTransactionCount` returns a nonce
 * above all nonces of its mined transactions.
 */
export function journaled(sending: Sending): ChainRpc["request"] {
  const { request, journal } = sending;
  return async (method, params) => {
    if (method === "eth_getTransactionCount" && isSame(String(params[0]), journal.state.wallet)) {
      const { sent } = journal.state;
      // An endpoint that lags behind would return a nonce that is too low.
      const known = sent.reduce(
        (next, each) => (each.mined ? Math.max(next, each.nonce + 1) : next),
        0,
      );
      return toQuantity(Math.max(await readNonce(sending), known));
    }
    return method === "eth_sendRawTransaction"
      ? send(sending, params[0] as Hex)
      : request(method, params);
  };
}

const readNonce = async ({ request, journal }: Sending, block: number | "latest" = "latest") => {
  const { method, params } = nonceCall(journal.state.wallet, block);
  return Number(quantity(await request(method, params)));
};

const isKnown = async ({ request }: Sending, hash: Hex) =>
  (await request("eth_getTransactionByHash", [hash])) !== null;

const withNonce = ({ journal }: Sending, nonce: number) =>
  journal.state.sent.filter((each) => each.nonce === nonce);

async function send(sending: Sending, raw: Hex): Promise<Hex> {
  const { journal, report } = sending;
  // Nobody has the private key for the deployer's transaction, so it cannot be signed with another
  // nonce or fee.
  if (raw === deterministicDeployer.transaction) return sendKeyless(sending, raw);
  const { nonce = 0 } = parseTransaction(raw);
  const same = journal.state.sent.filter((each) => hasSameEffect(each.raw, raw));
  for (const each of same) if (each.mined?.succeeded) await assertGone(sending, each);
  const stored = same.findLast((each) => !each.mined && each.nonce === nonce);
  const sent = stored ?? (await storeNew(sending, raw));
  report(`sending ${describeSent(sent)}`);
  return awaitMined(sending, sent);
}

/** @throws if the mined transaction may have had an effect */
async function assertGone(sending: Sending, sent: Sent): Promise<void> {
  const receipt = await sending.readReceipt(sent.hash);
  const address = codeAfter(sent.raw);
  if (receipt && address) {
    // After a reorganization, the transaction can precede the deployment of the called contract.
    const at = { blockHash: receipt.blockHash };
    const code = await sending.request("eth_getCode", [address, at]).catch(() => undefined);
    if (code === "0x") return;
  }
  throw new StepError(
    `${describeSent(sent)} already completed this step, but the endpoints do not show ` +
      `${receipt ? "its effect" : "its receipt"}: run the command again in a minute`,
  );
}

async function sendKeyless(sending: Sending, raw: Hex): Promise<Hex> {
  const hash = keccak256(raw);
  const name = `${hash} (the deployer's keyless transaction)`;
  sending.report(`sending ${name}`);
  return wait(sending, name, async () => {
    if (await sending.readReceipt(hash)) return hash;
    if (!(await isKnown(sending, hash))) await sending.request("eth_sendRawTransaction", [raw]);
    return undefined;
  });
}

/** The number of polls before the first progress message. Later messages follow every minute. */
const quietPolls = 10;
const pollsPerLine = 30;
/** The maximum number of polls, which take one hour in total. */
const pollsMax = 1_800;
/** The number of consecutive refusals after which a transaction's step fails. */
const refusalsMax = 3;

/**
 * Calls `attempt` repeatedly until it returns a result. Reports the reason for the delay every
 * minute.
 *
 * @throws after one hour, or after {@link refusalsMax} refusals in a row
 */
async function wait<Result>(
  sending: Sending,
  name: string,
  attempt: (head: Block, poll: number) => Promise<Result | undefined>,
): Promise<Result> {
  const { request, report, pollMs } = sending;
  let first: Block | undefined;
  let refusals = 0;
  let why = "";
  for (let poll = 0; poll < pollsMax; poll++) {
    try {
      const { method, params } = blockCall("latest");
      const head = blockOf(await request(method, params));
      first ??= head;
      const result = await attempt(head, poll);
      if (result !== undefined) return result;
      refusals = 0;
      why =
        head.number === first.number
          ? `the chain has no block after ${head.number}`
          : `too few endpoints returned the receipt while the chain reached block ${head.number}`;
    } catch (error) {
      const isRefused = error instanceof CallRefused;
      if (!isRefused && !(error instanceof ChainUnavailable)) throw error;
      why = `the endpoint ${isRefused ? "refuses it" : "does not answer"}: ${error.message}`;
      if (isRefused && ++refusals === refusalsMax) {
        throw new (error instanceof SendRefused ? NotSent : StepError)(`${name}: ${why}`);
      }
    }
    if (poll >= quietPolls && (poll - quietPolls) % pollsPerLine === 0) {
      report(`waiting for ${name}: ${why}. You can stop the command and run it again later`);
    }
    // The first waits are short, because test chains mine each transaction immediately.
    await sleep(Math.min(pollMs, 100 * 2 ** poll));
  }
  throw new StepError(
    `${name} was not mined within an hour, because ${why}: run the same command again later`,
  );
}

/** The number of blocks after which the fee of a pending transaction is raised. */
const patienceBlocks = 10;
/**
 * If the nonce is used but has no receipt, the launch searches for another transaction with this
 * nonce. The search starts after `lagPolls` (10 s). The launch fails after `lagPollsMax` (3
 * minutes).
 */
const lagPolls = 5;
const lagPollsMax = 90;

/**
 * Sends a stored transaction again and again until its nonce is used. Returns the hash of the mined
 * transaction.
 *
 * @throws {NonceTaken} if the mined transaction has another effect or is from another program
 */
async function awaitMined(sending: Sending, { nonce, raw: wanted }: Sent): Promise<Hex> {
  let signedBlock: number | undefined;
  let takenPolls = 0;
  let isBoundSaid = false;
  let isTooLow = false;
  const { report, journal } = sending;
  const name = describeSent(withNonce(sending, nonce).at(-1)!);
  return wait(sending, name, async (head) => {
    const mined = await settle(sending, nonce);
    if (mined && hasSameEffect(mined.raw, wanted)) return mined.hash;
    if (mined) throw new NonceTaken(`${describeSent(mined)} was mined: run the command again`);
    if ((await readNonce(sending)) > nonce) {
      if (++takenPolls > lagPolls) await assertNotTaken(sending, nonce, head.number);
      if (takenPolls <= lagPollsMax) return undefined;
      throw new StepError(
        `nonce ${nonce} is used, but too few endpoints show the transaction that used it: run ` +
          "the command again later, or name other endpoints with --rpc",
      );
    }
    takenPolls = 0;
    signedBlock ??= head.number;
    const newest = withNonce(sending, nonce).at(-1)!;
    const { type } = parseTransaction(newest.raw);
    const isLow =
      isTooLow ||
      feeOf(newest.raw).maxFee < head.baseFee ||
      head.number >= signedBlock + patienceBlocks;
    const raised = type === "eip1559" && isLow ? await raise(sending, newest, head) : newest;
    if (typeof raised === "string") {
      if (!isBoundSaid) report(`${name} ${raised}`);
      isBoundSaid = true;
    } else if (raised !== newest) signedBlock = head.number;
    const sent = typeof raised === "string" ? newest : raised;
    if (sent !== newest || !(await isKnown(sending, sent.hash))) {
      isTooLow = !(await broadcast(sending, sent));
    }
    return undefined;
  }).catch(async (error) => {
    // Removes the transaction from the journal if it was not sent. The next transaction then has
    // the same nonce, so at most one of the two is mined.
    const refused = withNonce(sending, nonce).at(-1);
    if (error instanceof NotSent && refused) await changeSent(journal, refused.hash, () => null);
    throw error;
  });
}

/** Finds the mined transaction with this nonce, stores its block and cost, and returns it. */
async function settle(sending: Sending, nonce: number): Promise<Sent | undefined> {
  const { journal } = sending;
  for (const signed of signedFor(journal.state, nonce)) {
    const receipt = await sending.readReceipt(signed.hash);
    if (receipt) return noteReceipt(journal, signed, receipt);
  }
  return undefined;
}

/**
 * Returns false if the endpoint requires a higher fee.
 * @throws {SendRefused} for other refusals
 */
async function broadcast({ request }: Sending, { raw }: Sent): Promise<boolean> {
  try {
    await request("eth_sendRawTransaction", [raw]);
    return true;
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error;
    const { code, message, data } = error;
    const kind = classifyError("eth_sendRawTransaction", { code, message, data });
    if (kind === "fee_too_low" || kind === "replacement_underpriced") return false;
    if (kind === "already_known" || kind === "nonce_used") return true;
    throw new SendRefused({ code, message, data });
  }
}

/** @throws {NonceTaken} if a transaction that is not from the launch has used the nonce */
async function assertNotTaken(sending: Sending, nonce: number, head: number): Promise<void> {
  const { journal } = sending;
  const taker = await findTaker(sending, nonce, head);
  const own = withNonce(sending, nonce);
  if (!taker || own.some(({ hash }) => hash === taker.hash)) return;
  for (const { hash } of own) await changeSent(journal, hash, () => null);
  throw new NonceTaken(
    `another program used nonce ${nonce} of the wallet ${journal.state.wallet} for ${taker.hash} ` +
      `in block ${taker.block}, so ${describeSent(own.at(-1)!)} can never be mined, ` +
      "and it cost nothing. Stop the other program and run the same command again: the command " +
      "repeats the step with the next nonce, if the step is still missing",
  );
}

/** Searches the blocks up to `head` for the wallet's transaction with this nonce. */
async function findTaker(sending: Sending, nonce: number, head: number) {
  const { request, journal } = sending;
  try {
    const isUsedAt = async (block: number) => (await readNonce(sending, block)) > nonce;
    const block = await findFirstBlock({ from: 0, to: head }, isUsedAt);
    const { method, params } = transactionsCall(block);
    const spenders = spendersIn(await request(method, params), journal.state.wallet);
    const taker = spenders?.find((each) => each.nonce === nonce);
    return taker && { hash: taker.hash, block };
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error;
    return undefined;
  }
}

const removed =
  "was removed by a reorganization, or the endpoint lags behind: the command sends it again if " +
  "necessary";

/**
 * Reads the receipts of all stored transactions again, because a reorganization may have removed a
 * transaction. Waits for the transactions that are in a mempool, in the order of their nonces. If a
 * nonce has no transaction left, transactions with later nonces cannot be mined. The function does
 * not wait for these transactions. A later step sends a lost transaction again if it is still
 * needed.
 */
export async function settleSent(sending: Sending): Promise<void> {
  const { journal, report } = sending;
  let isBehindGap = false;
  for (const nonce of nonces(sending)) {
    if (await settle(sending, nonce)) continue;
    const own = withNonce(sending, nonce);
    for (const each of own.filter(({ mined }) => mined)) {
      report(`${describeSent(each)} ${removed}`);
      await changeSent(journal, each.hash, (sent) => ({ ...sent, mined: null }));
    }
    const isTaken = (await readNonce(sending)) > nonce;
    const known = await Promise.all(own.map(({ hash }) => isKnown(sending, hash)));
    // A transaction cannot be mined while the transaction with an earlier nonce is missing.
    isBehindGap ||= !isTaken && !known.includes(true);
    if (isBehindGap) continue;
    await awaitMined(sending, own.at(-1)!).catch((error) => {
      if (!(error instanceof NonceTaken)) throw error;
      report(error.message);
    });
  }
}

const nonces = ({ journal }: Sending) =>
  [...new Set(journal.state.sent.map(({ nonce }) => nonce))].sort((a, b) => a - b);

/** Returns a line for each stored transaction that is not mined. Changes nothing. */
export async function inspectSent(sending: Sending) {
  const journal: Journal = {
    state: sending.journal.state,
    async save(change) {
      journal.state = { ...journal.state, ...change };
    },
  };
  const read = { ...sending, journal };
  const unmined: string[] = [];
  for (const nonce of nonces(sending)) {
    if (await settle(read, nonce)) continue;
    const own = withNonce(read, nonce);
    const isUsed = (await readNonce(read)) > nonce;
    const known = await Promise.all(own.map(({ hash }) => isKnown(read, hash)));
    const fate = isUsed
      ? "can never be mined: another transaction of this key has used its nonce"
      : known.includes(true)
        ? "waits in the mempool of the endpoint"
        : own.some(({ mined }) => mined)
          ? removed
          : "is signed, but the endpoint does not have it: the command sends it again if necessary";
    unmined.push(`${describeSent(own.at(-1)!)} ${fate}`);
    for (const { hash } of own)
      await changeSent(journal, hash, (sent) => ({ ...sent, mined: null }));
  }
  return { state: journal.state, unmined };
}
