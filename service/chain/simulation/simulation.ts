// Simulates the execution of an address at one block, and reports how balances change. A node of
// the chain runs the execution. An intent may be hostile, so amounts come only from measured
// balances. A contract can still detect the simulation, and only one node computes the result.
// Requests for the same address and block share a simulation. Few simulations run simultaneously,
// because each may occupy a node for seconds.

import {
  encodeExecution,
  type Hex,
  type Intent,
  requestedAmount,
  toHex,
  zeroAddress,
} from "executable-address";
import type { BalanceChange, Role, Simulation } from "executable-address/client";
import { measuredBalancesMax } from "executable-address/client/internal";
import {
  type BlockReference,
  type StatusSubject,
  stateOf,
  transferTopic,
} from "executable-address/status";
import { getAddress, hexToBigInt, isAddressEqual, isHex, size, sliceHex } from "viem/utils";
import { openGate } from "../../flow/gate.ts";
import { recalled } from "../../flow/together.ts";
import { withTimeout } from "../../flow/wait.ts";
import type { Token } from "../chains.ts";
import { askAt, type ChainRpc, callAt, oneAt, type StateOverrides } from "../rpc/chain-rpc.ts";
import { ChainUnavailable, isRefusal, type Log, unread } from "../rpc/json-rpc.ts";
import type { ChainAccess } from "../status/past.ts";
import { readHoldings } from "../status/probe.ts";
import { findFunding } from "./funding.ts";
import { callGas, type Measured, meterCode, type Pair, parseMeter } from "./meter.ts";
import { explainFailure } from "./revert.ts";

/** The chain of a simulation. `tokens` are the listed tokens, whose symbols are known. */
export type SimulatedChain = ChainAccess & { tokens: readonly Token[] };

/**
 * Simulates the execution of `subject` at `block`. Makes at most four calls to the node, or twice
 * as many if the node does not support blocks by hash.
 *
 * @throws {ChainUnavailable} if the chain cannot be read
 * @throws {StatusError} if the node's answers are inconsistent, or if the token does not answer
 *   `balanceOf`
 */
async function simulate(
  chain: SimulatedChain,
  block: BlockReference,
  subject: StatusSubject,
): Promise<Simulation> {
  const { address, intent } = subject;
  const pair = { vault: address, token: intent.token };
  const [shown] = await readHoldings(oneAt(chain, block), [pair]);
  const holding = shown![0]!;
  const state = stateOf(subject, block, holding);
  const balance = holding.balance!;
  const start = { address, chainId: intent.chainId, block, state, ...nothing };
  const over = overReasons[state];
  if (over) return { ...start, outcome: "impossible", reason: over };

  const fundingAssumed = balance < BigInt(intent.amount);
  const amount = BigInt(requestedAmount(intent));
  const funded = { token: intent.token, owner: address, amount };
  const overrides = fundingAssumed ? await findFunding(chain.rpc, block, funded) : undefined;
  if (fundingAssumed && !overrides)
    return { ...start, reason: "the simulation cannot set the balance of this token" };
  const run = await measure(chain, block, subject, overrides);
  if (!run) return { ...start, fundingAssumed, reason: "the node did not run the simulation" };
  if (fundingAssumed && run.measured.before[0] !== amount) {
    return { ...start, reason: "the simulation cannot set the balance of this token" };
  }
  return { ...start, fundingAssumed, ...judge(chain, subject, run) };
}

const nothing = {
  outcome: "unknown",
  reason: null,
  failedCall: null,
  fundingAssumed: false,
  gasUsed: null,
  changes: [],
  scope: null,
  unmeasured: 0,
} as const satisfies Partial<Simulation>;

const overReasons: Partial<Record<Simulation["state"], string>> = {
  executed: "the calls were already executed",
  expired: "the address expired before its calls were executed",
  recovered: "the address expired, and its money was returned",
};

type Run = Required<Pick<Simulation, "gasUsed" | "scope">> & {
  pairs: ReadPair[];
  leftOut: number;
  measured: Measured;
};

/**
 * Returns undefined if the node cannot run the simulation, for example because of its gas limit.
 */
async function measure(
  chain: SimulatedChain,
  block: BlockReference,
  subject: StatusSubject,
  overrides: StateOverrides | undefined,
): Promise<Run | undefined> {
  const { rpc, factory, chainId } = chain;
  const data = toHex(encodeExecution(subject.intent));
  const found = await discover(rpc, block, { to: factory, data }, overrides);
  const { pairs, leftOut } = choosePairs(subject, chain.tokens, found?.pairs ?? []);
  let answered: Hex;
  try {
    answered = await callAt(rpc, block, { data: meterCode(pairs, factory, data) }, overrides);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
  const measured = parseMeter(answered, pairs.length);
  if (measured.chainId !== chainId || measured.timestamp !== block.timestamp) {
    const { chainId: of, timestamp } = measured;
    const wanted = `chain ${chainId} at time ${block.timestamp}`;
    throw new ChainUnavailable(
      `expected a simulation on ${wanted}, found chain ${of} at time ${timestamp}`,
    );
  }
  const { gasUsed, scope } = found
    ? { gasUsed: found.gasUsed, scope: "transfers" as const }
    : { gasUsed: null, scope: "intent" as const };
  return { pairs, leftOut, measured, gasUsed, scope };
}

function judge(chain: SimulatedChain, subject: StatusSubject, run: Run): Partial<Simulation> {
  const { measured, pairs, leftOut, gasUsed, scope } = run;
  const { answer, gas, succeeded } = measured;
  if (!succeeded) {
    // A call receives at most 63/64 of the remaining gas (EIP-150).
    const hadGas = gas - gas / 64n > BigInt(callGas);
    if (!hadGas) return { reason: "the node allows too little gas for the simulation" };
    const { call, reason } = explainFailure(answer);
    return { outcome: "fails", reason, failedCall: call };
  }
  if (!isVault(answer, subject.address))
    return { reason: "the factory contract is not deployed on this chain" };
  const changes: BalanceChange[] = [];
  let unmeasured = leftOut;
  pairs.forEach(({ account, token, isGuess }, index) => {
    const [before, after] = [measured.before[index], measured.after[index]];
    if (before === undefined || after === undefined) {
      if (!isGuess) unmeasured += 1;
    } else if (before !== after) {
      const { symbol = null, decimals = null } =
        chain.tokens.find((t) => t.address === token) ?? {};
      const roles = findRoles(subject, account);
      changes.push({ account, roles, token, symbol, decimals, change: String(after - before) });
    }
  });
  return { outcome: "succeeds", gasUsed, changes, scope, unmeasured };
}

const isVault = (answer: Hex, vault: Hex) =>
  size(answer) === 32 && isAddressEqual(sliceHex(answer, 12), vault);

/**
 * Simulates at the chain's newest block, which can be cached for up to `headMsMax`.
 *
 * @throws {ChainUnavailable} if the chain cannot be read in time
 */
export type Simulate = (subject: StatusSubject) => Promise<Simulation>;

/** The maximum number of cached simulations. */
const answersMax = 10_000;

const runningMax = 8;

/**
 * @param options.waitMsMax the maximum duration of a request, including its wait for other
 *   simulations
 * @param options.now milliseconds of a monotonic clock
 */
export function openSimulations(
  chain: SimulatedChain,
  { waitMsMax = 15_000, now = () => performance.now() } = {},
): Simulate {
  const inTurn = openGate(runningMax);
  const answered = recalled<Simulation>(answersMax);
  const at = (block: BlockReference, subject: StatusSubject): Promise<Simulation> =>
    answered(`${subject.address} ${block.hash}`, () => {
      const beganMs = now();
      return inTurn(() => {
        const waitedMs = now() - beganMs;
        if (waitedMs > waitMsMax) throw new ChainUnavailable(tooLate(waitedMs, waitMsMax));
        return simulate(chain, block, subject);
      });
    });
  const read = (subject: StatusSubject) => chain.rpc.heads.at((block) => at(block, subject));
  return (subject) => {
    const message = `${subject.address} was not simulated within ${waitMsMax} ms`;
    const late = () => new ChainUnavailable(message);
    return withTimeout(waitMsMax, read(subject), late).catch(unread);
  };
}

const tooLate = (waitedMs: number, waitMsMax: number): string =>
  `the simulation waited ${Math.ceil(waitedMs)} ms for other simulations, but the limit is ` +
  `${waitMsMax} ms`;

/**
 * `isGuess` is true if it is not certain that the contract is a token. The number of unmeasured
 * balances does not include the balances in such contracts.
 */
type ReadPair = Pair & { isGuess: boolean };

/**
 * Chooses the balances to measure. The most informative balances come first, because any balances
 * after the first {@link measuredBalancesMax} are omitted.
 *
 * @param moved the pairs that appear in the logs of the simulated run
 * @returns at most {@link measuredBalancesMax} different pairs, and the number of omitted pairs
 */
function choosePairs(
  { address, intent }: StatusSubject,
  listed: readonly Token[],
  moved: readonly Pair[],
): { pairs: ReadPair[]; leftOut: number } {
  const targets = intent.calls.map(({ target }) => target);
  const parties = [address, intent.recovery, ...targets];
  const named = findNamed(intent);
  const tokens = [intent.token, ...listed.map((token) => token.address)];
  const isKnown = ({ token }: Pair) => token === zeroAddress || tokens.includes(token);
  const wanted: ReadPair[] = [
    ...both(parties, intent.token),
    ...moved.filter(isKnown),
    ...both(named, intent.token),
    ...moved.filter((pair) => !isKnown(pair)),
    ...tokens.flatMap((token) => [address, intent.recovery].map((account) => ({ account, token }))),
  ].map((pair) => ({ ...pair, isGuess: false }));
  // A contract that accepts deposits is often itself a token, whose units are shares of the
  // deposits. Some of these contracts log no transfer when they mint shares. So each target
  // contract is asked for the balance of `address`, even without a log.
  const guesses = targets
    .filter((target) => !tokens.includes(target))
    .map((token) => ({ account: address, token, isGuess: true }));
  const unique = new Map<string, ReadPair>();
  for (const pair of [...wanted, ...guesses]) {
    const key = `${pair.account}${pair.token}`;
    // The zero address appears in logs when tokens are minted or burned.
    if (!unique.has(key) && pair.account !== zeroAddress) unique.set(key, pair);
  }
  const pairs = [...unique.values()].slice(0, measuredBalancesMax);
  const left = [...unique.values()].slice(measuredBalancesMax);
  return { pairs, leftOut: left.filter(({ isGuess }) => !isGuess).length };
}

const both = (accounts: readonly Hex[], token: Hex): Pair[] =>
  accounts.flatMap((account) => [
    { account, token },
    { account, token: zeroAddress },
  ]);

/** Returns the roles that `account` (EIP-55) has in the intent. */
function findRoles({ address, intent }: StatusSubject, account: Hex): Role[] {
  const roles: Role[] = [];
  if (account === address) roles.push("vault");
  if (account === intent.recovery) roles.push("recovery");
  if (intent.calls.some(({ target }) => target === account)) roles.push("target");
  if (findNamed(intent).includes(account)) roles.push("named");
  return roles;
}

/** Returns every address in the arguments, including those in arrays and tuples. */
function findNamed({ calls }: Intent): Hex[] {
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
  /** Sorted by the transferred amounts in the logs, largest first. Each pair occurs once. */
  pairs: Pair[];
};

const nativeLogger = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

type Call = { status: Hex; gasUsed: Hex; logs?: Log[] };

/**
 * Runs a call with eth_simulateV1. The accounts and tokens in the call's logs show which balances
 * may change. The amounts in the logs only determine the order of the returned pairs. A log of
 * 0xeeee… reports a transfer of native coin. The method exists in geth 1.14.9, Nethermind 1.28,
 * reth, Nitro, Erigon 3.1, and anvil.
 *
 * @returns undefined if the node does not support the method, or if the call fails
 */
async function discover(
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
    return { gasUsed: Number(done!.gasUsed), pairs: findPairs(done!.logs ?? []) };
  } catch (error) {
    // Some nodes without eth_simulateV1 return a malformed answer instead of an error.
    if (isRefusal(error) || error instanceof TypeError) return undefined;
    throw error;
  }
}

function findPairs(logs: readonly Log[]): Pair[] {
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
