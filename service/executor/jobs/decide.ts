// Decides what to do with an address now. The decision depends only on the given facts.
// docs/executor.md lists all reasons that an operator can see, including reasons from other
// modules.

import { type Hex, zeroAddress } from "executable-address";
import { midnightAfter } from "../../flow/days.ts";
import { retrySecondsMin } from "../ledger/jobs.ts";
import type { DecisionPolicy } from "../pass.ts";
import type { Vault, Wanted } from "../payments/vaults.ts";

/**
 * The results of earlier attempts. `notBeforeSeconds` is the end of the last failure's backoff.
 * `recoveriesToday` is the number of recovery transactions since midnight, by the chain's clock.
 */
type History = {
  paidFailures: number;
  recoveryFailures: number;
  recoveriesToday: number;
  notBeforeSeconds: number;
};

/**
 * Fees in wei. `perGas` is the fee that a transaction has to offer now. `recovery` is the
 * approximate cost of recovering one token. An amount that is worth less than `recovery` stays in
 * the vault until more money arrives.
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
 * `untilSeconds` is the end of the wait by the chain's clock, or null if the address waits until
 * more money arrives.
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
 * After this number of recoveries that failed on chain, recoveries no longer include look-alike
 * tokens.
 */
const lookalikeFailuresMax = 2;

/**
 * Decides between an execution and a recovery. An address is open if the chain is its intent's
 * chain, it has no code there, and its expiration time has not passed. Only open addresses can be
 * executed. The balance of any other address goes to `recovery`.
 */
export function decide(facts: Facts): Decision {
  return isOpen(facts) ? decideOpen(facts) : decideOver(facts);
}

/** Returns whether the address can still be executed on this chain. */
export const isOpen = ({ wanted, chain, vault }: Pick<Facts, "wanted" | "chain" | "vault">) =>
  !vault.hasCode &&
  wanted.chainId === chain.chainId &&
  chain.timeSeconds <= wanted.expirationSeconds;

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
  // A look-alike token, which can fail on purpose, must not use up the attempts to return listed
  // tokens.
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
 * Returns the policy without the intent's own token, if that token is a look-alike. Otherwise,
 * returns the policy unchanged.
 */
function trust(policy: DecisionPolicy, token: Hex | undefined): DecisionPolicy {
  if (!token || !policy.lookalikes.has(token)) return policy;
  const lookalikes = new Map([...policy.lookalikes].filter(([each]) => each !== token));
  return { ...policy, lookalikes };
}

/**
 * Returns the tokens that are worth sending to `recovery`. If another token is returned, the native
 * coin is returned too, because it adds little cost. The native coin is returned without another
 * token only if it is worth the gas.
 *
 * @param times how many times the recovery's cost a token must be worth
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
    amount >= (lookalikes.get(token) ?? recoverMin.get(token) ?? 1n) * times &&
    (convertToWei(token, amount) ?? cost) >= cost;
  const nativeMin = found.some(isWorthIt) ? 1n : cost;
  return found
    .filter((each) => isWorthIt(each) || (each[0] === zeroAddress && each[1] >= nativeMin))
    .map(([token]) => token);
}

/**
 * Returns a decision to wait if the backoff has not ended or the fee is too high.
 *
 * @param latestSeconds the latest end of the wait. For an open address, it is the first second
 *   after the expiration time, when the decision changes.
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
