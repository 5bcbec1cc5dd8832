// Checks an intent before anyone pays its address. Simulates the execution as if the address were
// paid. Also looks for problems with the token and the contracts. Each finding has a path in the
// intent and a suggested change. See spec/service.md, "Check".

import { type Hex, isAddress } from "executable-address";
import type { Finding, Note, Simulation } from "executable-address/client";
import type { StatusSubject } from "executable-address/status";
import { readAtNewest } from "../rpc/heads.ts";
import { unread } from "../rpc/json-rpc.ts";
import { findFunding } from "../simulation/funding.ts";
import { openSimulations, type SimulatedChain } from "../simulation/simulation.ts";
import { askPaused, notesOf, readCodes } from "./contracts.ts";
import { type Depths, findGas, findLater, findNearExpiry } from "./later.ts";
import {
  findAllowances,
  findFailure,
  findLeftOver,
  findLost,
  findWallets,
  receiversOf,
} from "./outcome.ts";
import { findRecoveryDoubts, type OtherChain } from "./recovery.ts";
import {
  askToken,
  findBlocked,
  findTokenDoubts,
  findWrongDecimals,
  type TokenAnswers,
} from "./token.ts";

type Checked = { simulation: Simulation; findings: Finding[]; notes: Note[] };

/** @throws {ChainUnavailable} if the chain cannot be read, or no longer contains the block */
type CheckSubject = (subject: StatusSubject) => Promise<Checked>;

export function openChecks(chain: CheckedChain): CheckSubject {
  const simulate = openSimulations(chain);
  return (subject) =>
    readAtNewest(
      () => simulate(subject),
      ({ block }) => block.hash,
      async (simulation) => {
        return { simulation, ...(await findFindings(chain, subject, simulation)) };
      },
    ).catch(unread);
}

/** `others`: chains on which somebody could pay the address by mistake. */
export type CheckedChain = SimulatedChain & Depths & { others?: () => readonly OtherChain[] };

/**
 * Finds likely mistakes in an intent. spec/decisions.md, "Check", gives the number of calls to the
 * node. Three kinds of mistakes are found only if the node supports eth_simulateV1:
 * - allowances that remain after the calls
 * - token fees
 * - calls that skip work if they get less gas
 *
 * @param simulation the simulated execution of `subject`; all data is read at its block
 * @throws {ChainUnavailable} if the chain cannot be read
 */
async function findFindings(
  chain: CheckedChain,
  subject: StatusSubject,
  simulation: Simulation,
): Promise<{ findings: Finding[]; notes: Note[] }> {
  const { intent } = subject;
  const { block, outcome, state, reason } = simulation;
  if (outcome === "impossible") {
    const message = `the address is ${state}: ${reason}`;
    const cure = "use a different salt, because an address can be executed only once";
    return { findings: [{ path: ["salt"], code: "address_is_over", message, cure }], notes: [] };
  }
  const { rpc } = chain;
  const assumed = await assumeFunding(chain, subject, simulation);
  const receivers = receiversOf(subject, simulation);
  const targets = intent.calls.map(({ target }) => target);
  const contracts = [intent.token, ...targets, ...receivers.map(({ account }) => account)];
  const [isRun, paid] = [outcome === "succeeds", assumed?.state ?? {}];
  const [codes, pausable, answers, allowances, nearExpiry, later, gas] = await Promise.all([
    readCodes(rpc, block, contracts),
    askPaused(rpc, block, [intent.token, ...targets]),
    assumed && askToken(rpc, block, subject, assumed),
    isRun ? findAllowances(chain, block, subject, paid) : [],
    findNearExpiry(rpc, block, subject, chain),
    isRun ? findLater(chain, simulation, subject, paid) : [],
    isRun ? findGas(chain, simulation, subject, paid) : [],
  ]);
  const recovery = await findRecoveryDoubts(
    { rpc, others: chain.others?.() },
    ...([block, intent.recovery, codes.get(intent.recovery) ?? "0x"] as const),
  );
  const blocked = await findBlockedPlaces(chain, subject, simulation, answers);
  const isPaused = pausable.get(intent.token) === true;
  const doubts = answers ? findTokenDoubts(subject, answers, blocked, isPaused) : [];
  const isExplained = doubts.some(
    ({ code, path: [field] }) =>
      code === "token_paused" ||
      code === "token_refuses_transfers" ||
      (code === "token_blocks_address" && field === "calls"),
  );
  const token = chain.tokens.find(({ address }) => address === intent.token);
  const findings = [
    ...findFailure(simulation, isExplained),
    ...doubts,
    ...(token ? findWrongDecimals(intent.amount, token) : []),
    ...nearExpiry,
    ...later,
    ...findLost(subject, receivers, chain.factory, codes),
    ...findWallets(subject, codes),
    ...findLeftOver(simulation, subject),
    ...allowances,
    ...recovery.findings,
    // If the calls fail for some senders, the gas estimate may fail too. Gas findings are then
    // omitted.
    ...(later.some(({ code }) => code === "depends_on_executor") ? [] : gas),
  ];
  return { findings, notes: [...notesOf(subject, codes, pausable), ...recovery.notes] };
}

/**
 * Returns state overrides that give the address the requested amount plus one base unit. token.ts
 * simulates a transfer of the extra unit. Returns no overrides if the address is already funded.
 */
async function assumeFunding(
  chain: CheckedChain,
  { address, intent }: StatusSubject,
  { block, fundingAssumed, state }: Simulation,
) {
  const amount = BigInt(intent.amount);
  if (!fundingAssumed && state === "funded") return { state: {}, balance: amount };
  const wanted = { token: intent.token, owner: address, amount: amount + 1n };
  const assumed = await findFunding(chain.rpc, block, wanted);
  return assumed && { state: assumed, balance: amount + 1n };
}

/** The maximum number of addresses for which a check asks the token whether it blocks them. */
const blockedMax = 4;

/**
 * Asks the token which of the intent's addresses it blocks, and returns their paths. Checks the
 * `recovery` address only if a simulated transfer to it fails. If a call of the intent fails, also
 * checks the addresses in that call.
 */
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
      if (!isAddress(arg)) return;
      places.push({ account: arg, path: ["calls", failedCall, "args", index] });
    });
  }
  if (places.length === 0) return [];
  const checked = places.slice(0, blockedMax);
  const accounts = [...new Set(checked.map(({ account }) => account))];
  const blocked = await findBlocked(rpc, block, intent.token, accounts);
  return checked.filter(({ account }) => blocked.has(account)).map(({ path }) => path);
}
