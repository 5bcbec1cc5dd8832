// Chooses whose balances a simulation reads, the most informative first: their number is bounded.

import { type Hex, type Intent, zeroAddress } from "executable-address";
import type { Role } from "executable-address/client";
import type { StatusSubject } from "executable-address/status";
import { getAddress } from "viem/utils";
import type { Token } from "../chains.ts";
import { type Pair, pairsMax } from "./meter.ts";

/** `isGuess`: whether there is such a token at all is not known, so its silence says nothing. */
export type AskedPair = Pair & { isGuess: boolean };

/**
 * @param moved pairs that the run's own logs name
 * @returns at most {@link pairsMax}, each once, and how many were left out
 */
export function pairsToAsk(
  { address, intent }: StatusSubject,
  listed: readonly Token[],
  moved: readonly Pair[],
): { pairs: AskedPair[]; leftOut: number } {
  const targets = intent.calls.map(({ target }) => target);
  const parties = [address, intent.recovery, ...targets];
  const named = namedIn(intent);
  const tokens = [intent.token, ...listed.map((token) => token.address)];
  const isKnown = ({ token }: Pair) => token === zeroAddress || tokens.includes(token);
  const wanted: AskedPair[] = [
    ...both(parties, intent.token),
    ...moved.filter(isKnown),
    ...both(named, intent.token),
    ...moved.filter((pair) => !isKnown(pair)),
    ...tokens.flatMap((token) => [address, intent.recovery].map((account) => ({ account, token }))),
  ].map((pair) => ({ ...pair, isGuess: false }));
  // A contract that takes deposits may be a token of shares in them and log them otherwise.
  const guesses = targets
    .filter((target) => !tokens.includes(target))
    .map((token) => ({ account: address, token, isGuess: true }));
  const unique = new Map<string, AskedPair>();
  for (const pair of [...wanted, ...guesses]) {
    const key = `${pair.account}${pair.token}`;
    // Minted tokens come from the zero address and burnt ones go there, and it holds neither.
    if (!unique.has(key) && pair.account !== zeroAddress) unique.set(key, pair);
  }
  const pairs = [...unique.values()].slice(0, pairsMax);
  const left = [...unique.values()].slice(pairsMax);
  return { pairs, leftOut: left.filter(({ isGuess }) => !isGuess).length };
}

const both = (accounts: readonly Hex[], token: Hex): Pair[] =>
  accounts.flatMap((account) => [
    { account, token },
    { account, token: zeroAddress },
  ]);

/** Tells what `account` is to the intent. EIP-55. */
export function rolesOf({ address, intent }: StatusSubject, account: Hex): Role[] {
  const roles: Role[] = [];
  if (account === address) roles.push("vault");
  if (account === intent.recovery) roles.push("recovery");
  if (intent.calls.some(({ target }) => target === account)) roles.push("target");
  if (namedIn(intent).includes(account)) roles.push("named");
  return roles;
}

/** Every address in the arguments, also within arrays and tuples. */
function namedIn({ calls }: Intent): Hex[] {
  const found = new Set<Hex>();
  for (const { args } of calls) {
    for (const arg of args) {
      for (const [text] of arg.matchAll(/(?<![0-9a-zA-Z])0x[0-9a-fA-F]{40}(?![0-9a-zA-Z])/g)) {
        found.add(getAddress(text.toLowerCase()));
      }
    }
  }
  return [...found];
}
