// Chooses whose balances a simulation reads, the most informative first, since their number is
// bounded. The logs of an eth_simulateV1 show which balances may change, never how much moved, and
// native coin as logs of 0xeeee… geth 1.14.9, Nethermind 1.28, reth, Nitro, Erigon 3.1 and anvil
// have that method.

import { type Hex, type Intent, zeroAddress } from "executable-address";
import type { Role } from "executable-address/client";
import { type BlockReference, type StatusSubject, transferTopic } from "executable-address/status";
import { getAddress, hexToBigInt, isHex, size, sliceHex } from "viem/utils";
import type { Token } from "../chains.ts";
import { askAt, type StateOverrides } from "../rpc/call-at.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { isRefusal, type Log } from "../rpc/json-rpc.ts";
import { callGas, type Pair, pairsMax } from "./meter.ts";

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

type Discovered = {
  gasUsed: number;
  /** Each pair once; those with the largest claimed movement first. */
  pairs: Pair[];
};

const nativeLogger = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

type Call = { status: Hex; gasUsed: Hex; logs?: Log[] };

/** @returns undefined where the node has no such method, or does not see the run succeed */
export async function discover(
  rpc: ChainRpc,
  block: BlockReference,
  call: { to: Hex; data: Hex },
  stateOverrides: StateOverrides = {},
): Promise<Discovered | undefined> {
  const calls = [{ to: call.to, input: call.data, gas: `0x${callGas.toString(16)}` }];
  const payload = { blockStateCalls: [{ stateOverrides, calls }], traceTransfers: true };
  try {
    const answer = await askAt(rpc, block, (at) => ({
      method: "eth_simulateV1",
      params: [payload, at],
    }));
    const [done] = (answer as { calls: Call[] }[])[0]!.calls;
    if (Number(done!.status) !== 1) return undefined;
    return { gasUsed: Number(done!.gasUsed), pairs: pairsOf(done!.logs ?? []) };
  } catch (error) {
    // Nodes that do not know the method give malformed answers too.
    if (isRefusal(error) || error instanceof TypeError) return undefined;
    throw error;
  }
}

function pairsOf(logs: readonly Log[]): Pair[] {
  const found = new Map<string, { pair: Pair; claimed: bigint }>();
  for (const { address, topics, data } of logs) {
    if (topics[0] !== transferTopic || topics.length < 3) continue;
    const token = address.toLowerCase() === nativeLogger ? zeroAddress : getAddress(address);
    const claimed = isHex(data) && size(data) === 32 ? hexToBigInt(data) : 1n;
    for (const topic of topics.slice(1, 3)) {
      const account = getAddress(sliceHex(topic, 12, 32));
      const key = `${account}${token}`;
      const known = found.get(key) ?? { pair: { account, token }, claimed: 0n };
      known.claimed += claimed;
      found.set(key, known);
    }
  }
  const byClaim = [...found.values()].sort((a, b) => (a.claimed < b.claimed ? 1 : -1));
  return byClaim.map(({ pair }) => pair);
}
