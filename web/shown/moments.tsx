import type { ProvedReceipt } from "executable-address/proof";
import type { ServiceStatus } from "executable-address/status";
import type { SaidMoment } from "../ui/drawn/timeline.tsx";
import { useAbout } from "./about.tsx";
import { findToken } from "./reading.ts";
import { sharesIn, sumShares } from "./shares.ts";
import { sayUnits } from "./simulation.ts";
import { Transaction } from "./transaction.tsx";
import { useSpeech } from "./words/say.tsx";
import { sayAway, sayMoment } from "./words/say-when.ts";

type Known = {
  status: ServiceStatus | undefined;
  proved: ProvedReceipt | undefined;
  createdAt?: number;
  nowSeconds: number;
  hasTransactions?: boolean;
};

/** Lists what is known of an address's time, by the chain's clock and in words. */
export function useMoments(known: Known): SaidMoment[] {
  const { status, proved, createdAt, nowSeconds, hasTransactions } = known;
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
  // Of a return after that the block is known, and its time lies between two that are known.
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
    ...(createdAt === undefined ? [] : [{ name: say("created"), seconds: createdAt }]),
    ...paid,
    ...settled,
    ...returned,
  ];
  // The clock may be that of an earlier block than what was just told.
  const now = Math.max(nowSeconds, ...moments.map(({ seconds }) => seconds));
  return [
    ...moments,
    { name: say("now"), seconds: now, is: "now" as const },
    { name: say("expires"), seconds: end, is: "end" as const },
  ].map((moment) => ({
    said: sayMoment(moment.seconds, language),
    // A receipt has times alone: it is read when nothing is left to be late for.
    ...(!settledAt && moment.is !== "now" && { away: sayAway(moment.seconds - now, language) }),
    ...moment,
  }));
}
