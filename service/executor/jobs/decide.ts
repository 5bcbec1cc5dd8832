// What to do with an address now. Pure: the same facts give the same decision, and every reason an
// operator may read is named here.

import type { Hex } from "executable-address";
import { notWorthItsGas } from "../desk/hints.ts";
import { nativeCoin } from "./calldata.ts";

/** What an intent says that matters here. `token` lower case, `expirationSeconds` inclusive. */
export type Terms = { chainId: number; token: Hex; amount: bigint; expirationSeconds: number };

/** The vault at one block. Balances in base units, by token in lower case; zero address: native. */
export type Vault = { hasCode: boolean; balances: ReadonlyMap<Hex, bigint> };

/** What was tried before. `notBeforeSeconds` is where the last failure's backoff ends. */
export type History = {
  isInFlight: boolean;
  paidFailures: number;
  recoveryFailures: number;
  notBeforeSeconds: number;
};

/**
 * Wei. `perGas`: what a transaction would have to offer now. `committedToday`: what gas has cost
 * today, and what transactions in flight may cost at most.
 */
export type Fees = { perGas: bigint; perGasMax: bigint; committedToday: bigint; perDayMax: bigint };

/** `recoverMin`: base units of a token below which returning it is not worth its gas. */
export type DecisionPolicy = {
  recoverMin: ReadonlyMap<Hex, bigint>;
  paidFailuresMax: number;
  recoveryFailuresMax: number;
};

export type WaitReason =
  | "in_flight"
  | "backoff"
  | "fees_over_cap"
  | "budget_spent"
  | "underfunded"
  | "execution_keeps_failing"
  | "nothing_there";

export type GiveUpReason = typeof notWorthItsGas | "recovery_keeps_failing";

/** `untilSeconds` by the chain's clock; null: until more money comes. */
export type Decision =
  | { action: "execute" }
  | { action: "recover"; tokens: Hex[] }
  | { action: "wait"; reason: WaitReason; untilSeconds: number | null }
  | { action: "give_up"; reason: GiveUpReason };

export type Facts = {
  terms: Terms;
  chain: { chainId: number; timeSeconds: number };
  vault: Vault;
  history: History;
  fees: Fees;
  policy: DecisionPolicy;
};

/** How long to wait where only fees or budget stand in the way. */
const retrySeconds = 15;

/** Of a recovery, about: coins that pay less than that are left until they do, or more comes. */
const recoveryGas = 50_000n;

/**
 * An address is open while it has no code, on its own chain, up to and including its expiry: then
 * its calls may run. Otherwise it is over or closed, and what it holds goes to `recovery`.
 */
export function decide(facts: Facts): Decision {
  const { terms, chain, vault, history } = facts;
  if (history.isInFlight) return wait("in_flight", null);
  const isOpen =
    !vault.hasCode &&
    terms.chainId === chain.chainId &&
    chain.timeSeconds <= terms.expirationSeconds;
  return isOpen ? decideOpen(facts) : decideOver(facts);
}

function decideOpen({ terms, chain, vault, history, fees, policy }: Facts): Decision {
  const afterExpiry = terms.expirationSeconds + 1;
  const held = vault.balances.get(terms.token) ?? 0n;
  if (held < terms.amount) {
    const holdsAny = [...vault.balances.values()].some((amount) => amount > 0n);
    return holdsAny ? wait("underfunded", afterExpiry) : wait("nothing_there", null);
  }
  if (history.paidFailures >= policy.paidFailuresMax) {
    return wait("execution_keeps_failing", afterExpiry);
  }
  return heldBack(chain.timeSeconds, history, fees, afterExpiry) ?? { action: "execute" };
}

function decideOver({ chain, vault, history, fees, policy }: Facts): Decision {
  const held = [...vault.balances].filter(([, amount]) => amount > 0n);
  if (held.length === 0) return wait("nothing_there", null);
  const tokens = tokensWorthIt(held, fees, policy);
  if (tokens.length === 0) return { action: "give_up", reason: notWorthItsGas };
  if (history.recoveryFailures >= policy.recoveryFailuresMax) {
    return { action: "give_up", reason: "recovery_keeps_failing" };
  }
  return heldBack(chain.timeSeconds, history, fees) ?? { action: "recover", tokens };
}

/** Native coin costs little more where a token is returned; alone it has to be worth its gas. */
function tokensWorthIt(
  held: readonly (readonly [Hex, bigint])[],
  { perGas }: Fees,
  { recoverMin }: DecisionPolicy,
): Hex[] {
  const isWorthIt = ([token, amount]: readonly [Hex, bigint]) =>
    token !== nativeCoin && amount >= (recoverMin.get(token) ?? 1n);
  const nativeMin = held.some(isWorthIt) ? 1n : perGas * recoveryGas;
  return held
    .filter((each) => isWorthIt(each) || (each[0] === nativeCoin && each[1] >= nativeMin))
    .map(([token]) => token);
}

/** @param latestSeconds a wait never goes past it: at expiry the decision is another */
function heldBack(
  now: number,
  { notBeforeSeconds }: History,
  { perGas, perGasMax, committedToday, perDayMax }: Fees,
  latestSeconds = Number.POSITIVE_INFINITY,
): Decision | undefined {
  const soon = Math.min(now + retrySeconds, latestSeconds);
  if (now < notBeforeSeconds) return wait("backoff", Math.min(notBeforeSeconds, latestSeconds));
  if (perGas > perGasMax) return wait("fees_over_cap", soon);
  if (committedToday >= perDayMax) return wait("budget_spent", soon);
  return undefined;
}

function wait(reason: WaitReason, untilSeconds: number | null): Decision {
  return { action: "wait", reason, untilSeconds };
}
