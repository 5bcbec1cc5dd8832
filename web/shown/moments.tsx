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

/** Lists the known times of an address, by the chain's clock, with labels. */
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
  // For a later return, only the block is known, so its time is estimated between two known times.
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
  // The clock may be of an earlier block than the latest status.
  const now = Math.max(nowSeconds, ...moments.map(({ seconds }) => seconds));
  return [
    ...moments,
    { name: say("now"), seconds: now, is: "now" as const },
    { name: say("expires"), seconds: end, is: "end" as const },
  ].map((moment) => ({
    said: sayMoment(moment.seconds, language),
    // A receipt shows only times, because nothing can be late anymore.
    ...(!settledAt && moment.is !== "now" && { away: sayAway(moment.seconds - now, language) }),
    ...moment,
  }));
}
