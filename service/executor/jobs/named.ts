// Sends reported tokens ("named" in the code) to `recovery`. A reported token is not on a token
// list, but somebody reported that an address received the token. Its contract can do anything, and
// reporting a token is free. So the executor does this work last in each pass, and limits it. Each
// token has its own transaction with a fixed gas limit. The transaction is sent only if a
// simulation shows that the token moves from the address to `recovery`. These transactions can use
// only half of each budget, so the other half remains for payments.

import { recoverCalldata, toHex } from "executable-address";
import { measureReturn } from "../../chain/sent.ts";
import { daySeconds, midnightAfter } from "../../flow/days.ts";
import type { NamedJob } from "../ledger/named.ts";
import type { Budgets } from "../money/budgets.ts";
import { computeCost } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import { type Examined, examine, type HoldingsMemory, ofSeveral } from "../payments/vaults.ts";
import { canAfford } from "../transactions/send.ts";
import type { SendingKey } from "../transactions/sending-key.ts";
import { type Batch, baseGas, computeRecoveryGas, computeShares, computeSizeMax } from "./batch.ts";
import { isOpen } from "./decide.ts";
import { countFreeSlots, dispatch, isAble, type ShortageMemory } from "./dispatch.ts";

/**
 * The gas for one transfer. Tokens behind a proxy need up to 100,000 gas, and lending tokens up to
 * 200,000.
 */
const transferGasMax = 250_000;
/**
 * The maximum number of tokens to try in one round, and the time between two rounds. The rounds are
 * less frequent while other jobs are due.
 */
const perRoundMax = 4;
const roundMs = { idle: 5_000, busy: 60_000 };
/** The time until a token is tried again if its transaction could not be sent. */
const againSeconds = 300;
/**
 * Transactions for reported tokens can use half of each budget: the budget divided by this number.
 */
const budgetPart = 2n;
/**
 * The daily limit on transactions for reported tokens per chain, as a multiple of the daily limit
 * per account.
 */
const accountsPerDay = 10;

export type NamedMemory = { named: { roundAtMs: number } };

export const openNamedMemory = (): NamedMemory => ({
  named: { roundAtMs: Number.NEGATIVE_INFINITY },
});

type NamedPass = Pass<NamedMemory & HoldingsMemory & ShortageMemory>;

/**
 * Sends the reported tokens that are due to `recovery`. Does nothing if no key has more than half
 * of its slots free.
 */
export async function returnNamed(
  pass: NamedPass,
  keys: readonly SendingKey[],
  openBudgets: () => Promise<Budgets>,
  isBusy: boolean,
): Promise<void> {
  const { parts, memory, fence, nowSeconds } = pass;
  const perDay = parts.chain.namedTokensPerDay;
  const idle = keys.filter(
    (key) => isAble(key) && countFreeSlots(key) > parts.tuning.inFlightMax / 2,
  );
  if (perDay === 0 || idle.length === 0) return;
  const sinceMs = parts.clock() - memory.named.roundAtMs;
  if (sinceMs < (isBusy ? roundMs.busy : roundMs.idle)) return;
  memory.named.roundAtMs = parts.clock();
  const again = nowSeconds + againSeconds;
  const taken = await parts.ledger.takeNamed(fence, nowSeconds, again, perRoundMax);
  if (taken.length === 0) return;
  const { chainId } = parts.chain;
  const tomorrow = midnightAfter(nowSeconds);
  const sent = await parts.ledger.countReturns(chainId, tomorrow - daySeconds);
  const { examined } = await examine(
    pass,
    taken.map(({ job }) => job),
  );
  for (const item of examined) {
    const named = taken.find(({ job }) => job === item.job)!;
    const { accountId } = item.job;
    const all = [...sent.values()].reduce((sum, n) => sum + n, 0);
    const own = sent.get(accountId) ?? 0;
    if (own >= perDay || all >= perDay * accountsPerDay) {
      await parts.ledger.postponeNamed(fence, named, tomorrow);
    } else if (await returnOne(pass, idle, named, item, await openBudgets())) {
      sent.set(accountId, own + 1);
    }
  }
}

/** @returns whether a transaction was sent */
async function returnOne(
  pass: NamedPass,
  keys: readonly SendingKey[],
  named: NamedJob,
  item: Examined,
  budgets: Budgets,
): Promise<boolean> {
  const { parts, fence, nowSeconds, memory } = pass;
  const { wanted, vault, recovery, job } = item;
  const { chainId } = parts.chain;
  if (isOpen({ wanted, vault, chain: { chainId, timeSeconds: nowSeconds } })) {
    await parts.ledger.postponeNamed(fence, named, wanted.expirationSeconds + 1);
    return false;
  }
  const [key] = keys;
  const purse = await key!.openPurse();
  const gas = computeRecoveryGas(item, [{ gas: transferGasMax }]);
  const outcome = await measureReturn(ofSeveral(pass, memory.holdings.turn++), {
    ...{ factory: parts.factory, vault: job.address, recovery, token: named.token },
    data: toHex(recoverCalldata(job.terms, [named.token])),
    from: key!.pass.signer.address,
    gasMax: gas,
  });
  // If the endpoints could not simulate the transfer, the token is tried again later.
  if (outcome === "unknown") return false;
  if (outcome === "stays") {
    await parts.ledger.postponeNamed(fence, named, null);
    return false;
  }
  const ready = [{ kind: "return" as const, token: named.token, item, gas }];
  const batch: Batch = { ready, gas: baseGas + gas };
  const size = { ...computeSizeMax(ready), gas: batch.gas };
  const cost = computeCost(size, purse.suggested.maxFee, purse.perByte);
  const [share] = computeShares(batch, 0);
  if (budgets.refusal(share!, cost, budgetPart) || !canAfford(purse, size)) return false;
  if (purse.neededPerGas > parts.chain.fees.perGasMax) return false;
  budgets.reserve(share!, cost);
  return (await dispatch(pass, purse, [batch], keys)).length === 0;
}
