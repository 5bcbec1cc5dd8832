// Simulates the execution of an address at one block: the chain's node runs it, and balances before
// and after are compared. An intent may be hostile, so amounts are never taken from logs or from
// what contracts return. Two limits remain: a contract can detect a simulation, and one node is
// asked. Requests for the same address within one block share a simulation, and only a few run at
// the same time, since each may cost the node seconds.

import { encodeExecution, type Hex, toHex } from "executable-address";
import type { BalanceChange, Simulation } from "executable-address/client";
import { type BlockReference, type StatusSubject, stateOf } from "executable-address/status";
import { isAddressEqual, size, sliceHex } from "viem/utils";
import { recalled } from "../../flow/together.ts";
import { openGate, within } from "../../flow/wait.ts";
import type { Token } from "../chains.ts";
import { callAt, oneAt, type StateOverrides } from "../rpc/call-at.ts";
import { ChainUnavailable, isRefusal, unread } from "../rpc/json-rpc.ts";
import type { ChainAccess } from "../status/past.ts";
import { readHoldings } from "../status/probe.ts";
import { findFunding } from "./funding.ts";
import { callGas, type Measured, meterCode, parseMeter } from "./meter.ts";
import { type AskedPair, discover, pairsToAsk, rolesOf } from "./pairs.ts";
import { explainFailure } from "./revert.ts";

/** A chain to simulate on, and the tokens whose symbols are known there. */
export type SimulatedChain = ChainAccess & { tokens: readonly Token[] };

/**
 * Takes at most four calls of the node, one more if it does not know a block by its hash.
 *
 * @throws {ChainUnavailable} when the chain cannot be read
 * @throws {StatusError} when it contradicts itself, or the token does not answer `balanceOf`
 */
async function simulate(
  chain: SimulatedChain,
  block: BlockReference,
  subject: StatusSubject,
): Promise<Simulation> {
  const { address, intent } = subject;
  const holder = { vault: address, token: intent.token };
  const [shown] = await readHoldings(oneAt(chain, block), [holder]);
  const holding = shown![0]!;
  const state = stateOf(subject, block, holding);
  const balance = holding.balance!;
  const amount = BigInt(intent.amount);
  const start = { address, chainId: intent.chainId, block, state, ...nothing };
  const over = overReasons[state];
  if (over) return { ...start, outcome: "impossible", reason: over };

  const fundingAssumed = balance < amount;
  const funded = { token: intent.token, owner: address, amount };
  const overrides = fundingAssumed ? await findFunding(chain.rpc, block, funded) : undefined;
  if (fundingAssumed && !overrides) return { ...start, reason: "the token cannot be assumed paid" };
  const run = await measure(chain, block, subject, overrides);
  if (!run) return { ...start, fundingAssumed, reason: "the node did not run it" };
  if (fundingAssumed && run.measured.before[0] !== amount) {
    return { ...start, reason: "the token cannot be assumed paid" };
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
  executed: "the calls ran already, once and for good",
  expired: "the address expired before its calls ran",
  recovered: "the address expired, and its money was returned",
};

type Run = { pairs: AskedPair[]; leftOut: number; measured: Measured; gasUsed: number | null };

/** Undefined where the node answers that it cannot: out of gas, too long, or no such call. */
async function measure(
  chain: SimulatedChain,
  block: BlockReference,
  subject: StatusSubject,
  overrides: StateOverrides | undefined,
): Promise<Run | undefined> {
  const { rpc, factory, chainId } = chain;
  const data = toHex(encodeExecution(subject.intent));
  const found = await discover(rpc, block, { to: factory, data }, overrides);
  const { pairs, leftOut } = pairsToAsk(subject, chain.tokens, found?.pairs ?? []);
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
    throw new ChainUnavailable(`wanted the meter on ${wanted}, found ${of} at ${timestamp}`);
  }
  return { pairs, leftOut, measured, gasUsed: found?.gasUsed ?? null };
}

function judge(chain: SimulatedChain, subject: StatusSubject, run: Run): Partial<Simulation> {
  const { measured, pairs, leftOut, gasUsed } = run;
  const { answer, gas, succeeded } = measured;
  if (!succeeded) {
    // A call is given all but a 64th of what is left (EIP-150).
    const hadGas = gas - gas / 64n > BigInt(callGas);
    if (!hadGas) return { reason: "the node gives too little gas to run it" };
    const { call, reason } = explainFailure(answer);
    return { outcome: "fails", reason, failedCall: call };
  }
  if (!isVault(answer, subject.address)) return { reason: "the factory is not on this chain" };
  const changes: BalanceChange[] = [];
  let unmeasured = leftOut;
  pairs.forEach(({ account, token, isGuess }, index) => {
    const [before, after] = [measured.before[index], measured.after[index]];
    if (before === undefined || after === undefined) {
      if (!isGuess) unmeasured += 1;
    } else if (before !== after) {
      const { symbol = null, decimals = null } =
        chain.tokens.find((t) => t.address === token) ?? {};
      const roles = rolesOf(subject, account);
      changes.push({ account, roles, token, symbol, decimals, change: String(after - before) });
    }
  });
  const scope = gasUsed === null ? "intent" : "transfers";
  return { outcome: "succeeds", gasUsed, changes, scope, unmeasured };
}

const isVault = (answer: Hex, vault: Hex) =>
  size(answer) === 32 && isAddressEqual(sliceHex(answer, 12), vault);

/**
 * Simulates at the chain's newest block, or one at most `headMsMax` older.
 *
 * @throws {ChainUnavailable} when the chain cannot be read, or not in time
 */
export type Simulate = (subject: StatusSubject) => Promise<Simulation>;

/** An address and a block; a dropped one is made again when it is asked for again. */
const answersMax = 10_000;

const runningMax = 8;

/**
 * @param options.waitMsMax with the wait for a place; later, the page has been left
 * @param options.now milliseconds, by a clock that does not go back
 */
export function openSimulations(
  chain: SimulatedChain,
  { waitMsMax = 15_000, now = () => performance.now() } = {},
): Simulate {
  const inTurn = openGate(runningMax);
  const answered = recalled<Simulation>(answersMax);
  const at = (block: BlockReference, subject: StatusSubject): Promise<Simulation> =>
    answered(`${subject.address} ${block.hash}`, () => {
      const untilMs = now() + waitMsMax;
      return inTurn(() => {
        if (now() > untilMs) throw new ChainUnavailable("no place became free in time");
        return simulate(chain, block, subject);
      });
    });
  const read = (subject: StatusSubject) => chain.rpc.heads.at((block) => at(block, subject));
  const late = () => new ChainUnavailable(`not simulated within ${waitMsMax} ms`);
  return (subject) => within(waitMsMax, read(subject), late).catch(unread);
}
