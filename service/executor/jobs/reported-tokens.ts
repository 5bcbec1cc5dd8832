// Sends reported tokens to `recovery`. These tokens are not on a token list, but somebody reported
// that an address received them. Anyone can report any token at no cost, and the token's contract
// can be hostile. Therefore, the executor handles reported tokens last, and limits the number of
// their transactions. Each token has its own transaction with a fixed gas limit. The transaction is
// sent only if a simulation shows that the token reaches `recovery`. The transaction must also keep
// the day's spending within half of each budget.

import { recoverCalldata, toHex } from "executable-address";
import { computeReturnGas } from "../../chain/gas-limits.ts";
import { measureReturn } from "../../chain/simulation/meter.ts";
import { daySeconds, midnightAfter } from "../../flow/days.ts";
import type { ReportedJob } from "../ledger/reported-tokens.ts";
import type { Budgets } from "../money/budgets.ts";
import { computeCost } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import { type Examined, examine, type HoldingsMemory, severalInTurn } from "../payments/vaults.ts";
import { canAfford } from "../transactions/purse.ts";
import type { SendingKey } from "../transactions/sending-key.ts";
import { isOpen } from "./decide.ts";
import { countFreeSlots, dispatch, isAble, type ShortageMemory, signAndSend } from "./dispatch.ts";
import { type Batch, baseGas, computeShares, computeSizeMax } from "./gas.ts";

/** At most this number of tokens is tried per round. Rounds begin at least `roundMs` apart. */
const perRoundMax = 4;
const roundMs = { idle: 5_000, busy: 60_000 };
/** The delay before a retry if the transaction for a token could not be sent. */
const againSeconds = 300;
/** Transactions for reported tokens must keep the day's spending within half of each budget. */
const budgetPart = 2n;
/**
 * The daily limit on transactions for reported tokens is `reportedTokensPerDay` for one account.
 * The limit for a whole chain is this many times as high.
 */
const accountsPerDay = 10;

export type ReportedMemory = { reported: { roundAtMs: number } };

export const openReportedMemory = (): ReportedMemory => ({
  reported: { roundAtMs: Number.NEGATIVE_INFINITY },
});

type ReportedPass = Pass<ReportedMemory & HoldingsMemory & ShortageMemory>;

/**
 * Sends reported tokens to `recovery` when they are due. Does nothing while each key has reached
 * half of its limit of pending transactions.
 *
 * @param openBudgets returns the budgets of the pass, in which all costs of the pass are reserved
 */
export async function returnReported(
  pass: ReportedPass,
  keys: readonly SendingKey[],
  openBudgets: () => Promise<Budgets>,
  isBusy: boolean,
): Promise<void> {
  const { parts, memory, fence, nowSeconds } = pass;
  const perDay = parts.chain.reportedTokensPerDay;
  const idle = keys.filter(
    (key) => isAble(key) && countFreeSlots(key) > parts.tuning.inFlightMax / 2,
  );
  if (perDay === 0 || idle.length === 0) return;
  const sinceMs = parts.clock() - memory.reported.roundAtMs;
  if (sinceMs < (isBusy ? roundMs.busy : roundMs.idle)) return;
  memory.reported.roundAtMs = parts.clock();
  const again = nowSeconds + againSeconds;
  const taken = await parts.ledger.takeReported(fence, nowSeconds, again, perRoundMax);
  if (taken.length === 0) return;
  const { chainId } = parts.chain;
  const tomorrow = midnightAfter(nowSeconds);
  const sent = await parts.ledger.countReturns(chainId, tomorrow - daySeconds);
  const { examined } = await examine(
    pass,
    taken.map(({ job }) => job),
  );
  for (const item of examined) {
    const reported = taken.find(({ job }) => job === item.job)!;
    const { accountId } = item.job;
    const all = [...sent.values()].reduce((sum, n) => sum + n, 0);
    const own = sent.get(accountId) ?? 0;
    if (own >= perDay || all >= perDay * accountsPerDay) {
      await parts.ledger.postponeReported(fence, reported, tomorrow);
    } else if (await returnOne(pass, idle, reported, item, await openBudgets())) {
      sent.set(accountId, own + 1);
    }
  }
}

/** @returns whether a transaction was sent */
async function returnOne(
  pass: ReportedPass,
  keys: readonly SendingKey[],
  reported: ReportedJob,
  item: Examined,
  budgets: Budgets,
): Promise<boolean> {
  const { parts, fence, nowSeconds, memory } = pass;
  const { wanted, vault, recovery, job } = item;
  const { chainId } = parts.chain;
  if (isOpen({ wanted, vault, chain: { chainId, timeSeconds: nowSeconds } })) {
    await parts.ledger.postponeReported(fence, reported, wanted.expirationSeconds + 1);
    return false;
  }
  const [key] = keys;
  const purse = await key!.openPurse();
  const gas = computeReturnGas(job.terms);
  const outcome = await measureReturn(severalInTurn(pass, memory.holdings.turn++), {
    ...{ factory: parts.factory, vault: job.address, recovery, token: reported.token },
    data: toHex(recoverCalldata(job.terms, [reported.token])),
    from: key!.pass.signer.address,
    gasMax: gas,
  });
  if (outcome === "unknown") return false;
  if (outcome === "stays") {
    await parts.ledger.postponeReported(fence, reported, null);
    return false;
  }
  const ready = [{ kind: "return" as const, token: reported.token, item, gas }];
  const batch: Batch = { ready, gas: baseGas + gas };
  const size = { ...computeSizeMax(ready), gas: batch.gas };
  const cost = computeCost(size, purse.suggested.maxFee, purse.perByte);
  const [share] = computeShares(batch, 0);
  if (budgets.refusal(share!, cost, budgetPart) || !canAfford(purse, size)) return false;
  if (purse.neededPerGas > parts.chain.fees.perGasMax) return false;
  return (await dispatch(pass, purse, budgets, [batch], keys, signAndSend)).length === 0;
}
