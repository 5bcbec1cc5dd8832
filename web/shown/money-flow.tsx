// Draws where the money comes from and where it goes. The list of payers is from the proof. Before
// the outcome, the list of recipients is from the simulation. After the outcome, it is from the
// proof, or from the status if there is no proof. This module is loaded separately, because it is
// not needed in order to pay.

import { type Hex, type Intent, requestedAmount } from "executable-address";
import type { Simulation } from "executable-address/client";
import type { ProvedExecution, ProvedReceipt } from "executable-address/proof";
import type { ServiceStatus, TokenAmount } from "executable-address/status";
import { isSame } from "executable-address-element/page";
import { Flow, type Stream } from "../ui/drawn/flow.tsx";
import { Identicon } from "../ui/drawn/identicon.tsx";
import { type SaidMoment, Timeline } from "../ui/drawn/timeline.tsx";
import { useAbout } from "./about.tsx";
import { ShortParty } from "./address-text.tsx";
import { splitFunction, writeSignature } from "./function.ts";
import { type Proved, useProved } from "./proved.ts";
import { findToken } from "./reading.ts";
import { type Share, sharesIn, sharesOut, sumShares } from "./shares.ts";
import { sayUnits } from "./simulation.ts";
import { Transaction } from "./transaction.tsx";
import { useSpeech } from "./words/say.tsx";
import { sayAway, sayMoment } from "./words/say-when.ts";

export type MoneyProps = {
  status: ServiceStatus | undefined;
  simulation: Simulation | undefined;
  proved: Proved;
  /**
   * True while a simulation is loading. The page then reserves space, so that the content below
   * does not move later.
   */
  isSimulating?: boolean;
  /** Undefined if the time must not be shown. */
  createdAtSeconds?: number;
  /** The current Unix time, by the chain's clock if the chain's time is known. */
  nowSeconds: number;
  /** True if the page shows the payments' transactions elsewhere. */
  hasTransactions?: boolean;
};

/**
 * Requests the proof and draws {@link MoneyFlow}. Used by pages that need the proof only for this
 * drawing.
 */
export function ProvedFlow(props: Omit<MoneyProps, "proved">) {
  const proved = useProved(useAbout().record, props.status);
  return <MoneyFlow {...props} proved={proved} />;
}

export function MoneyFlow({ status, simulation, proved, isSimulating, ...times }: MoneyProps) {
  const { record, intent } = useAbout();
  const { say, language } = useSpeech();
  const isAwaited = proved === "awaited";
  const found = isAwaited ? undefined : proved;
  const after = status && !isAwaited ? shareOutcome(intent, status, found?.execution?.moved) : [];
  const to = after.length > 0 ? after : shareChanges(record.address, simulation);
  const own = to.filter(({ token }) => isSame(token, intent.token));
  const all = sumShares(own) || BigInt(requestedAmount(intent));
  const held = after.length > 0 ? 0n : BigInt(status?.balance ?? 0);
  const still: Share = {
    ...{ who: "stillToPay", token: intent.token, units: all - held },
    isAwaited: true,
  };
  // If nothing has arrived, the payers are expected to send the whole amount.
  const isAhead = after.length === 0 && held === 0n;
  const paid = sharesIn(intent, found?.payments ?? [], held || all);
  const from = [
    ...(isAhead ? paid.map((share) => ({ ...share, isAwaited: true })) : paid),
    ...(held > 0n && still.units > 0n ? [still] : []),
  ];
  const streamOf = useStreams();
  const moments = useMoments({ status, proved: found, ...times });
  return (
    <>
      {to.length === 0 && (isSimulating || isAwaited) && <div className="h-14" />}
      {to.length > 0 && (
        <Flow label={say("flowTitle")} from={from.map(streamOf)} to={to.map(streamOf)} />
      )}
      <Timeline label={say("when")} moments={moments} dir={language.dir} />
      {found && found.paymentsOmitted > 0 && (
        <p className="text-sm text-soft">{say("paymentsOmitted", { n: found.paymentsOmitted })}</p>
      )}
    </>
  );
}

/**
 * Returns the amounts that each account would receive according to the simulation. None of this
 * money has moved yet.
 */
const shareChanges = (address: Hex, simulation: Simulation | undefined): Share[] =>
  (simulation?.changes ?? [])
    .filter(({ change, account }) => !change.startsWith("-") && !isSame(account, address))
    .map(({ account, token, change }) => ({
      ...{ who: account, token, units: BigInt(change) },
      isAwaited: true,
    }));

/**
 * @param moved the transfers from the chain's logs. Default: the transfers in the intent's calls
 */
export function shareOutcome(
  intent: Intent,
  { execution, recoveries, recoverable }: ServiceStatus,
  moved: ProvedExecution["moved"] = intent.calls
    .filter(isTransferFrom(intent.token))
    .map(({ target, args: [to, amount] }) => ({
      ...{ token: target, to: to as Hex, amount: amount! },
    })),
): Share[] {
  const taken = execution && { ...execution, moved };
  return sharesOut(intent, taken, sumOf(intent, recoveries), sumOf(intent, recoverable));
}

/** Returns the sum of the `amounts` in the intent's token, in base units. */
export const sumOf = ({ token: own }: Intent, amounts: readonly TokenAmount[]): bigint =>
  amounts
    .filter(({ token }) => isSame(token, own))
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);

const isTransferFrom = (token: string) => (call: { target: string; function: string }) =>
  isSame(call.target, token) &&
  writeSignature(splitFunction(call.function)) === "transfer(address,uint256)";

function useStreams() {
  const { intent, chains } = useAbout();
  const { say } = useSpeech();
  return ({ who, token, units, isReturn = false, isAwaited = false }: Share): Stream => ({
    key: `${who} ${token} ${isReturn} ${isAwaited}`,
    name: !who.startsWith("0x") ? (
      say(who as Exclude<Share["who"], Hex>)
    ) : isReturn ? (
      <span title={who}>
        <Identicon address={who} isInline />
        {say("recoveryAddress")}
      </span>
    ) : (
      <ShortParty address={who} />
    ),
    said: sayUnits(`${units}`, token, findToken(intent, chains, token), say),
    units: isSame(token, intent.token) ? units : 0n,
    isReturn,
    isAwaited,
  });
}

type Known = {
  status: ServiceStatus | undefined;
  proved: ProvedReceipt | undefined;
  createdAtSeconds?: number;
  nowSeconds: number;
  hasTransactions?: boolean;
};

/** Returns the points of the address's timeline, each with its label and time. */
export function useMoments(known: Known): SaidMoment[] {
  const { status, proved, createdAtSeconds, nowSeconds, hasTransactions } = known;
  const { intent, chains, sayAmount } = useAbout();
  const { say, language } = useSpeech();
  const { expirationTimestamp: end } = intent;
  const { settledAt, execution, recoveries = [], block } = status ?? {};
  const paid = (proved?.payments ?? []).map((payment) => {
    const { block, transactionHash } = payment;
    const amount = sayAmount(`${sumShares(sharesIn(intent, [payment], 0n))}`);
    const isLate = block.timestamp > end || block.timestamp > (settledAt ?? end);
    return {
      ...{ name: say("paidBy"), amount, seconds: block.timestamp },
      ...(isLate && { is: "late" as const }),
      ...(!hasTransactions && {
        by: <Transaction hash={transactionHash} explorer={status?.explorer} />,
      }),
    };
  });
  const settled = settledAt
    ? [{ name: say(execution ? "stateExecuted" : "stateRecovered"), seconds: settledAt }]
    : [];
  // For a return after `settledAt`, the status contains a block number but no time. The time is
  // then interpolated between two blocks with known times.
  const first = execution ?? recoveries[0];
  const secondsOf = (number: number) => {
    if (!first || !settledAt || !block || block.number === first.blockNumber) return settledAt;
    const share = (number - first.blockNumber) / (block.number - first.blockNumber);
    return settledAt + share * (block.timestamp - settledAt);
  };
  const returned = (execution ? recoveries : recoveries.slice(1)).flatMap(
    ({ token, amount, blockNumber }) => {
      const seconds = secondsOf(blockNumber);
      if (!seconds) return [];
      const said = sayUnits(amount, token, findToken(intent, chains, token), say);
      const name = say("stateRecovered");
      return [{ name, amount: said, seconds, said: say("inBlock", { block: blockNumber }) }];
    },
  );
  const moments: (Omit<SaidMoment, "said"> & { said?: string })[] = [
    ...(createdAtSeconds === undefined
      ? []
      : [{ name: say("created"), seconds: createdAtSeconds }]),
    ...paid,
    ...settled,
    ...returned,
  ];
  // The page's clock may be behind the latest status. Past events must not appear to be in the
  // future.
  const now = Math.max(nowSeconds, ...moments.map(({ seconds }) => seconds));
  return [
    ...moments,
    { name: say("now"), seconds: now, is: "now" as const },
    { name: say("expires"), seconds: end, is: "end" as const },
  ].map((moment) => ({
    said: sayMoment(moment.seconds, language),
    // After the outcome, omits relative times such as "in 2 hours", because there is no deadline
    // left.
    ...(!settledAt && moment.is !== "now" && { away: sayAway(moment.seconds - now, language) }),
    ...moment,
  }));
}
