// Shows where the money comes from and goes to: before an execution as a test run measured it,
// after it as the status and the proved calls tell.

import type { Simulation } from "executable-address/client";
import { isSame, partsOf, signatureOf } from "executable-address/page";
import type { ServiceStatus } from "executable-address/status";
import { Flow, type Stream } from "../ui/flow.tsx";
import { Timeline } from "../ui/timeline.tsx";
import { useAbout } from "./about.tsx";
import { ShortParty } from "./address-text.tsx";
import { findToken } from "./reading.ts";
import { sayChange } from "./simulation.ts";
import { useSpeech } from "./words/say.tsx";
import { sayMoment } from "./words/say-when.ts";

type MoneyProps = {
  status: ServiceStatus | undefined;
  simulation: Simulation | undefined;
  /** A simulation is on its way: its place is kept, so that nothing below it moves. */
  isSimulating?: boolean;
  /** Unix; given where the reader may know it. */
  createdAt?: number;
  /** Unix, by the chain's clock where it is known. */
  nowSeconds: number;
};

export function MoneyFlow(props: MoneyProps) {
  const { status, simulation, isSimulating, createdAt, nowSeconds } = props;
  const { intent, sayAmount } = useAbout();
  const { say, language } = useSpeech();
  const before = useChanges(simulation);
  const after = useOutcome(status);
  const to = after.length > 0 ? after : before;
  const paid = to.reduce((sum, { units }) => sum + units, 0n);
  const isMeasured = paid > 0n;
  const settled = status?.execution ? "stateExecuted" : "stateRecovered";
  const moments = [
    ...(createdAt === undefined ? [] : [{ name: say("created"), seconds: createdAt }]),
    ...(status?.settledAt ? [{ name: say(settled), seconds: status.settledAt }] : []),
    // The clock is that of an earlier block than what was just told.
    {
      name: say("now"),
      seconds: Math.max(nowSeconds, createdAt ?? 0, status?.settledAt ?? 0),
      isNow: true,
    },
    { name: say("expires"), seconds: intent.expirationTimestamp },
  ].map((moment) => ({ ...moment, said: sayMoment(moment.seconds, language) }));
  return (
    <>
      {to.length === 0 && isSimulating && <div className="h-14" />}
      {to.length > 0 && (
        <Flow
          label={say("flowTitle")}
          from={[
            {
              key: "payers",
              name: say("payers"),
              said: sayAmount(isMeasured ? `${paid}` : intent.amount),
              units: isMeasured ? paid : BigInt(intent.amount),
            },
          ]}
          to={to}
        />
      )}
      <Timeline label={say("when")} moments={moments} />
    </>
  );
}

/** Reads from a test run that succeeds who gets what. */
function useChanges(simulation: Simulation | undefined): Stream[] {
  const { record, intent, chains } = useAbout();
  const { say } = useSpeech();
  const gains = (simulation?.changes ?? []).filter(
    ({ change, account }) => !change.startsWith("-") && !isSame(account, record.address),
  );
  return gains.map(({ account, token, change }) => ({
    key: account + token,
    name: <ShortParty address={account} />,
    said: sayChange(change, token, findToken(intent, chains, token), say).replace("+", ""),
    units: isSame(token, intent.token) ? BigInt(change) : 0n,
    isReturn: false,
  }));
}

/** Reads what became of the intent's token: the calls sent it, or it was returned. */
function useOutcome(status: ServiceStatus | undefined): Stream[] {
  const { intent, sayAmount } = useAbout();
  const { say } = useSpeech();
  if (!status) return [];
  const { execution, recoveries, recoverable } = status;
  const streamOf = (key: string, name: Stream["name"], units: bigint, isReturn = false) => ({
    key,
    name,
    said: sayAmount(`${units}`),
    units,
    isReturn,
  });
  const sent = execution ? intent.calls.filter(isTransferOf(intent.token)) : [];
  const given = sent.map(({ args: [to, units] }, at) =>
    streamOf(`${at}`, <ShortParty address={to!} />, BigInt(units!)),
  );
  const rest =
    (execution ? BigInt(execution.held) - BigInt(execution.left) : 0n) -
    given.reduce((sum, { units }) => sum + units, 0n);
  const returned = [...recoveries, ...recoverable]
    .filter(({ token }) => isSame(token, intent.token))
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  return [
    ...given,
    ...(rest > 0n ? [streamOf("calls", say("byCalls"), rest)] : []),
    ...(returned > 0n ? [streamOf("returned", say("recoveryAddress"), returned, true)] : []),
  ];
}

const isTransferOf = (token: string) => (call: { target: string; function: string }) =>
  isSame(call.target, token) && signatureOf(partsOf(call.function)) === "transfer(address,uint256)";
