// Finds what is doubtful about an intent before anybody pays its address: each finding has its
// place in the intent and a cure. spec/service.md, "Check", lists the kinds.

import type { Hex } from "executable-address";
import type { Finding, Simulation } from "executable-address/client";
import type { StatusSubject } from "executable-address/status";
import { askAt } from "../rpc/call-at.ts";
import { hexData } from "../rpc/json-rpc.ts";
import type { SimulatedChain } from "../simulation/simulation.ts";
import { fundingOf } from "../status/funding.ts";
import { probeHoldings } from "../status/probe.ts";
import { findAllowances } from "./allowances.ts";
import { findWrongDecimals } from "./amount.ts";
import { type Depths, findNearExpiry } from "./expiry.ts";
import { type Ceiling, findFailure, findGas, findLeftOver, findWallets } from "./outcome.ts";
import { askToken, findBlocked, findTokenDoubts, type TokenAnswers } from "./token.ts";

export type CheckedChain = SimulatedChain & Depths & Ceiling;

/**
 * Up to seven calls of the node; where it has no eth_simulateV1 up to 25, and no allowance or fee
 * is found.
 *
 * @param simulation of `subject`; everything is asked at its block
 * @throws {ChainUnavailable} when the chain cannot be read
 */
export async function findFindings(
  chain: CheckedChain,
  subject: StatusSubject,
  simulation: Simulation,
): Promise<Finding[]> {
  const { intent } = subject;
  const { block, outcome, state, reason } = simulation;
  if (outcome === "impossible") {
    const message = `the address is ${state}: ${reason}`;
    const cure = "take another salt: an address serves once";
    return [{ path: ["salt"], code: "address_is_over", message, cure }];
  }
  const { rpc } = chain;
  const assumed = await assumeFunding(chain, subject, simulation);
  const [delegating, answers, allowances, nearExpiry] = await Promise.all([
    readDelegating(chain, subject, simulation),
    assumed && askToken(rpc, block, subject, assumed),
    outcome === "succeeds" ? findAllowances(chain, block, subject, assumed?.state ?? {}) : [],
    findNearExpiry(rpc, block, subject, chain),
  ]);
  const blocked = await findBlockedPlaces(chain, subject, simulation, answers);
  const doubts = answers ? findTokenDoubts(subject, answers, blocked) : [];
  const isExplained = doubts.some(
    ({ code, path: [field] }) =>
      code === "token_paused" ||
      code === "token_refuses_transfers" ||
      (code === "token_blocks_address" && field === "calls"),
  );
  const token = chain.tokens.find(({ address }) => address === intent.token);
  return [
    ...findFailure(simulation, isExplained),
    ...doubts,
    ...(token ? findWrongDecimals(intent.amount, token) : []),
    ...nearExpiry,
    ...findWallets(subject, delegating),
    ...findLeftOver(simulation, subject),
    ...allowances,
    ...findGas(simulation, chain),
  ];
}

/** The state in which the address has one unit more than the amount, or what it has already. */
async function assumeFunding(
  chain: CheckedChain,
  { address, intent }: StatusSubject,
  { block, fundingAssumed, state }: Simulation,
) {
  const amount = BigInt(intent.amount);
  if (!fundingAssumed && state === "funded") return { state: {}, held: amount };
  const wanted = { token: intent.token, owner: address, amount: amount + 1n };
  const assumed = await fundingOf(chain.rpc, block, wanted);
  return assumed && { state: assumed, held: amount + 1n };
}

/** How the code of an account that delegates to a contract begins (EIP-7702). */
const delegation = "0xef0100";
const delegationBytes = 23;

/** The targets that are such accounts. */
async function readDelegating(
  chain: CheckedChain,
  { intent }: StatusSubject,
  { block }: Simulation,
): Promise<Set<Hex>> {
  const targets = [...new Set(intent.calls.map(({ target }) => target))];
  const asked = targets.map((vault) => ({ vault, token: intent.token }));
  const holdings = await probeHoldings(chain, block, asked);
  const found = new Set<Hex>();
  for (const [index, target] of targets.entries()) {
    if (holdings[index]!.codeBytes !== delegationBytes) continue;
    const code = await askAt(chain.rpc, block, (at) => ({
      method: "eth_getCode",
      params: [target, at],
    }));
    if (hexData(code).startsWith(delegation)) found.add(target);
  }
  return found;
}

/** The most addresses of one call that the token is asked about. */
const blockedAskedMax = 4;

/** Asks the token, where something fails, whether it blocks one of the parties. */
async function findBlockedPlaces(
  { rpc }: CheckedChain,
  { intent }: StatusSubject,
  { block, outcome, failedCall }: Simulation,
  answers: TokenAnswers | undefined,
): Promise<(string | number)[][]> {
  const places: { account: Hex; path: (string | number)[] }[] = [];
  if (answers?.canReturn === false) places.push({ account: intent.recovery, path: ["recovery"] });
  if (outcome === "fails" && failedCall !== null) {
    const { target, args } = intent.calls[failedCall]!;
    places.push({ account: target, path: ["calls", failedCall, "target"] });
    args.forEach((arg, index) => {
      if (!/^0x[0-9a-fA-F]{40}$/.test(arg)) return;
      places.push({ account: arg as Hex, path: ["calls", failedCall, "args", index] });
    });
  }
  if (places.length === 0) return [];
  const asked = places.slice(0, blockedAskedMax);
  const accounts = [...new Set(asked.map(({ account }) => account))];
  const blocked = await findBlocked(rpc, block, intent.token, accounts);
  return asked.filter(({ account }) => blocked.has(account)).map(({ path }) => path);
}
