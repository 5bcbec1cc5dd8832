// Decides what to do with an address now. The decision depends only on the given facts.
// docs/executor.md explains all reasons.

import { type Hex, zeroAddress } from "executable-address";
import { isOpenAt } from "executable-address/status";
import { recoverMinDefault } from "../../chain/chains.ts";
import { midnightAfter } from "../../flow/days.ts";
import { retrySecondsMin } from "../ledger/due.ts";
import type { Vault, Wanted } from "../payments/vaults.ts";
import type { AttemptLimits, DecisionPolicy } from "../settings.ts";

/**
 * The results of earlier attempts. `notBeforeSeconds` is the end of the backoff after the last
 * failure. `recoveriesToday` is the number of recovery transactions since midnight, by block time.
 */
type History = {
  paidFailures: number;
  recoveryFailures: number;
  recoveriesToday: number;
  notBeforeSeconds: number;
};

/**
 * Fees in wei. `perGas` is the fee per gas that a transaction has to offer now. `recovery` is the
 * approximate cost of recovering one token. An amount that is worth less than `recovery` does not
 * justify a recovery.
 */
type Fees = { perGas: bigint; perGasMax: bigint; recovery: bigint };

type WaitReason =
  | "backoff"
  | "fees_over_cap"
  | "underfunded"
  | "execution_keeps_failing"
  | "recoveries_of_today_spent"
  | "nothing_there";

type GiveUpReason = "not_worth_its_gas" | "recovery_keeps_failing";

/**
 * `untilSeconds` is the block time at which the wait ends. If `untilSeconds` is null, the address
 * waits for more money.
 */
export type Decision =
  | { action: "execute" }
  | { action: "recover"; tokens: Hex[] }
  | { action: "wait"; reason: WaitReason; untilSeconds: number | null }
  | { action: "give_up"; reason: GiveUpReason };

export type Facts = {
  wanted: Wanted;
  chain: { chainId: number; timeSeconds: number };
  vault: Vault;
  history: History;
  fees: Fees;
  policy: DecisionPolicy;
};

/**
 * Each value limits how much gas an address can waste. The values were chosen by judgment, and not
 * by measurement.
 *
 * - `paidFailuresMax` is low, because executions are simulated first. Repeated failures on chain
 *   are then probably not a coincidence. The money is not lost, because the executor returns it
 *   after the expiration time.
 * - `recoveryFailuresMax` is higher than `paidFailuresMax`, because the money stays at an address
 *   that the executor abandons. The backoff spreads the attempts over at least five minutes.
 * - `recoveriesPerDayMax` is low, because usually an address needs only one recovery, for a surplus
 *   or a late payment. Two more recoveries per day are allowed in case a payer pays again by
 *   mistake.
 */
export const attemptLimits: AttemptLimits = {
  paidFailuresMax: 3,
  recoveryFailuresMax: 6,
  recoveriesPerDayMax: 3,
};

/**
 * After this number of recoveries has failed on chain, look-alike tokens are no longer recovered.
 * The number is lower than for listed tokens, because look-alike tokens can fail on purpose. One
 * failure is not enough, because the state can change between simulation and transaction.
 */
const lookalikeFailuresMax = 2;

/**
 * Decides between an execution and a recovery. Only open addresses can be executed. An address is
 * open if it has no code yet, and if its intent is unexpired and for this chain. The balance of any
 * other address is sent to `recovery`.
 */
export function decide(facts: Facts): Decision {
  return isOpen(facts) ? decideOpen(facts) : decideOver(facts);
}

/** Returns whether the address can still be executed. */
export const isOpen = ({ wanted, chain, vault }: Pick<Facts, "wanted" | "chain" | "vault">) =>
  isOpenAt(
    { chainId: wanted.chainId, expirationTimestamp: wanted.expirationSeconds },
    { chainId: chain.chainId, timestamp: chain.timeSeconds },
    vault.hasCode,
  );

function decideOpen({ wanted, chain, vault, history, fees, policy }: Facts): Decision {
  const afterExpiry = wanted.expirationSeconds + 1;
  const balance = vault.balances.get(wanted.token) ?? 0n;
  if (balance < wanted.amount) {
    const holdsAny = [...vault.balances.values()].some((amount) => amount > 0n);
    return holdsAny ? wait("underfunded", afterExpiry) : wait("nothing_there", null);
  }
  if (history.paidFailures >= policy.paidFailuresMax) {
    return wait("execution_keeps_failing", afterExpiry);
  }
  return findWait(chain.timeSeconds, history, fees, afterExpiry) ?? { action: "execute" };
}

function decideOver({ wanted, chain, vault, history, fees, ...facts }: Facts): Decision {
  const policy = trust(facts.policy, wanted.chainId === chain.chainId ? wanted.token : undefined);
  const there = [...vault.balances].filter(([, amount]) => amount > 0n);
  if (there.length === 0) return wait("nothing_there", null);
  // A look-alike token can fail on purpose. The failures of a look-alike must not use up the
  // attempts for listed tokens.
  const isTried = history.recoveryFailures >= lookalikeFailuresMax;
  const found = there.filter(([token]) => !isTried || !policy.lookalikes.has(token));
  if (found.length === 0) return { action: "give_up", reason: "recovery_keeps_failing" };
  if (tokensWorthIt(found, fees, policy, 1n).length === 0) {
    return { action: "give_up", reason: "not_worth_its_gas" };
  }
  if (history.recoveryFailures >= policy.recoveryFailuresMax) {
    return { action: "give_up", reason: "recovery_keeps_failing" };
  }
  const beyond = history.recoveriesToday - policy.recoveriesPerDayMax + 1;
  const tokens = tokensWorthIt(found, fees, policy, 2n ** BigInt(Math.max(0, beyond)));
  if (tokens.length === 0) {
    return wait("recoveries_of_today_spent", midnightAfter(chain.timeSeconds));
  }
  return findWait(chain.timeSeconds, history, fees) ?? { action: "recover", tokens };
}

/**
 * Returns the policy for an address. If the intent requests a look-alike token, that token is
 * treated like a listed token.
 */
function trust(policy: DecisionPolicy, token: Hex | undefined): DecisionPolicy {
  if (!token || !policy.lookalikes.has(token)) return policy;
  const lookalikes = new Map([...policy.lookalikes].filter(([each]) => each !== token));
  return { ...policy, lookalikes };
}

/**
 * Returns the tokens that are worth sending to `recovery`. If any token is sent back, the native
 * coin is sent back too, because it adds little cost. Without such a token, the native coin is sent
 * back only if it is worth the gas.
 *
 * @param times the required value of a token, as a multiple of the recovery's cost
 */
function tokensWorthIt(
  found: readonly (readonly [Hex, bigint])[],
  { recovery }: Fees,
  { recoverMin, lookalikes, convertToWei }: DecisionPolicy,
  times: bigint,
): Hex[] {
  const cost = recovery * times;
  const isWorthIt = ([token, amount]: readonly [Hex, bigint]) =>
    token !== zeroAddress &&
    !(times > 1n && lookalikes.has(token)) &&
    amount >= (lookalikes.get(token) ?? recoverMin.get(token) ?? recoverMinDefault) * times &&
    (convertToWei(token, amount) ?? cost) >= cost;
  const nativeMin = found.some(isWorthIt) ? 1n : cost;
  return found
    .filter((each) => isWorthIt(each) || (each[0] === zeroAddress && each[1] >= nativeMin))
    .map(([token]) => token);
}

/**
 * Decides to wait if the backoff has not ended or the fee is too high.
 *
 * @param latestSeconds the time at which the wait ends at the latest; for an open address, one
 *   second after the expiration
 */
function findWait(
  nowSeconds: number,
  { notBeforeSeconds }: History,
  { perGas, perGasMax }: Fees,
  latestSeconds = Number.POSITIVE_INFINITY,
): Decision | undefined {
  const soon = Math.min(nowSeconds + retrySecondsMin, latestSeconds);
  if (nowSeconds < notBeforeSeconds)
    return wait("backoff", Math.min(notBeforeSeconds, latestSeconds));
  if (perGas > perGasMax) return wait("fees_over_cap", soon);
  return undefined;
}

function wait(reason: WaitReason, untilSeconds: number | null): Decision {
  return { action: "wait", reason, untilSeconds };
}
