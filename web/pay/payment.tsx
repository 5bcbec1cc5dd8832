import type { News } from "executable-address/page";
import { type Hazard, hazardsOf, type Standing, standingOf } from "executable-address/page";
import { type ReactNode, useEffect, useState } from "react";
import { Badge, Notice } from "../ui/notice.tsx";
import { Loading } from "../ui/states.tsx";
import { useAbout } from "./about.tsx";
import { Ask } from "./ask.tsx";
import { Doubts, Reason } from "./doubts.tsx";
import { Head } from "./head.tsx";
import { Calls } from "./intent/calls.tsx";
import { Evidence, Otherwise } from "./intent/small-print.tsx";
import { useNews, useTick } from "./live/news.ts";
import { sayMoment } from "./live/say-when.ts";
import { type Simulated, useSimulation } from "./live/simulation.ts";
import { WouldHappen } from "./live/simulation-card.tsx";
import { Strays } from "./live/strays.tsx";
import { OtherMoney, Receipt } from "./receipt.tsx";
import { ReturnTo } from "./return-to.tsx";
import { OnItsWay } from "./wallet/on-its-way.tsx";
import { WalletPanel } from "./wallet/panel.tsx";
import { usePayment } from "./wallet/use-payment.ts";
import { Pair } from "./walletconnect/pair.tsx";
import { usePairing } from "./walletconnect/wallet.ts";
import { Said, useSpeech } from "./words/say.tsx";

/** How long the code waits for a first status, or it could be scanned and vanish a moment later. */
const patienceMs = 3_000;
const tickMs = 1_000;

/** A verified record: one card to pay by, and folded below it everything else. */
export function Payment() {
  const { record, intent, token, facts, chainName } = useAbout();
  const { say } = useSpeech();
  useTick(tickMs);
  const news = useNews(record.address);
  const { simulated, again } = useSimulation(record.address, news.status);
  const isPatient = usePatience();
  const simulation = simulated.kind === "done" ? simulated.simulation : undefined;
  const standing = standingOf(intent, news, simulation, Math.floor(Date.now() / 1000));
  const isFinal = ["executed", "expired", "recovered"].includes(standing.state);
  const { owed } = standing;
  const payment = usePayment({ record, owed, chainName, facts });
  const pairing = usePairing();
  const hazards = hazardsOf(intent, token !== undefined);
  const isKnown = (news.status !== undefined || news.isUnknown) && simulated.kind !== "loading";

  const ask = pairing ? (
    <Pair pairing={pairing} />
  ) : (
    <Ask owed={owed} wallets={<WalletPanel payment={payment} owed={owed} />} />
  );

  return (
    <div className="space-y-3">
      {hazards.map(({ tone, title, call }) => (
        <Notice key={title + call} tone={tone} title={say(title, { n: call ?? 0 })}>
          <p>{say(`${title}Text`)}</p>
        </Notice>
      ))}
      <section className="card pay-card">
        <div className="ask-head">
          <Head standing={standing} news={news} isWaiting={!isKnown && isPatient} />
        </div>
        {!isFinal && owed !== "0" && <Strays strays={news.status?.strays} owed={owed} />}
        {payment.kept ? (
          <OnItsWay payment={payment} kept={payment.kept} standing={standing} news={news} />
        ) : !isKnown && isPatient ? (
          <div className="ask-all ask-waiting">
            <p className="sr-only">{say("checkingRun")}</p>
            <Loading lines={5} />
          </div>
        ) : (
          <Body standing={standing} receipt={isFinal && <Receipt {...{ standing, news }} />}>
            {ask}
          </Body>
        )}
        {payment.kept && isFinal && <Receipt {...{ standing, news }} />}
      </section>
      <ReturnTo isFinal={isFinal} />
      <Below {...{ standing, news, simulated, isFinal, hazards, ask }} onRetry={again} />
    </div>
  );
}

type BelowProps = {
  standing: Standing;
  news: News;
  simulated: Simulated;
  isFinal: boolean;
  hazards: readonly Hazard[];
  ask: ReactNode;
  onRetry: () => void;
};

/** What stands below the card, each part opened where it is what the reader came for. */
function Below({ standing, news, simulated, isFinal, hazards, ask, onRetry }: BelowProps) {
  const { say } = useSpeech();
  const isOver = standing.state === "expired" || standing.state === "recovered";
  const fails = simulated.kind === "done" && simulated.simulation.outcome === "fails";
  return (
    <>
      {news.status && news.status.recoveries.length + news.status.recoverable.length > 0 && (
        <Folded title={say(isOver ? "returnedMoney" : "otherMoney")} isOpen>
          <OtherMoney status={news.status} />
        </Folded>
      )}
      <Folded
        title={say("doesTitle")}
        isOpen={hazards.length > 0}
        aside={<Badge>{say("termsMatch")}</Badge>}
      >
        <p className="mb-4 text-soft">{say("doesText")}</p>
        <Calls />
      </Folded>
      {!isFinal && simulated.kind !== "not_held" && (
        <Folded title={say("wouldTitle")} isOpen={fails}>
          <WouldHappen simulated={simulated} onRetry={onRetry} />
        </Folded>
      )}
      <Folded title={say("otherwiseTitle")}>
        <Otherwise />
      </Folded>
      <Folded title={say("lateTitle")} isOpen={standing.state === "executed"}>
        <p>{say("lateText")}</p>
        {standing.state === "executed" && (
          <div className="pay-card !px-0">
            <Doubts standing={standing}>{ask}</Doubts>
          </div>
        )}
      </Folded>
      <Folded title={say("checkedTitle")}>
        <Evidence />
      </Folded>
    </>
  );
}

type BodyProps = { standing: Standing; receipt: ReactNode; children: ReactNode };

/** What the card holds below its head: the outcome, or how to pay, behind its doubts. */
function Body({ standing, receipt, children }: BodyProps) {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  const { state } = standing;
  return (
    <>
      {state === "paid" && <p className="ask-all text-soft">{say("paidText")}</p>}
      {state === "stuck" && (
        <div className="ask-all">
          <Notice tone="warn">
            <p>
              <Said
                as="stuckText"
                reason={<Reason standing={standing} />}
                date={sayMoment(intent.expirationTimestamp, language)}
              />
            </p>
          </Notice>
        </div>
      )}
      {receipt}
      {/* A receipt stays one: where late payers look, it says what paying again would do. */}
      {state !== "executed" && <Doubts standing={standing}>{children}</Doubts>}
    </>
  );
}

type FoldedProps = { title: string; isOpen?: boolean; aside?: ReactNode; children: ReactNode };

/** Opens by itself when what is in it becomes something to be seen. */
function Folded({ title, isOpen = false, aside, children }: FoldedProps) {
  return (
    <details className="card folded" open={isOpen}>
      <summary>
        <h2>{title}</h2>
        {aside}
      </summary>
      <div className="pt-3">{children}</div>
    </details>
  );
}

function usePatience(): boolean {
  const [isPatient, setPatient] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setPatient(false), patienceMs);
    return () => clearTimeout(timer);
  }, []);
  return isPatient;
}
