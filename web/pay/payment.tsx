// The payment page of a verified record: payment options, warnings, and the outcome.

import {
  type Doubt,
  decideOffer,
  decideStanding,
  findHazards,
  type Hazard,
  isInProgress,
  isOver,
  type Standing,
} from "executable-address-element/page";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { ShortParty } from "../shown/address-text.tsx";
import { useNews, useTick } from "../shown/news.ts";
import { sumTransfers } from "../shown/reading.ts";
import { useSimulation } from "../shown/simulation.ts";
import type { Key } from "../shown/words/languages.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment, saySpan } from "../shown/words/say-when.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { Loading } from "../ui/states.tsx";
import { Ask } from "./ask.tsx";
import { Details, ReturnsCard } from "./details.tsx";
import { Head, Rail } from "./head.tsx";
import { OtherMoney, Receipt } from "./later.tsx";
import { Misdirected } from "./misdirected.tsx";
import { WalletButtons, WalletNotice } from "./wallet/panel.tsx";
import { useWalletFlow } from "./wallet/wallets.ts";

/**
 * The page waits at most this time for the first status and simulation. Without this delay, a payer
 * could scan a QR code that disappears a moment later.
 */
const patienceMs = 3_000;
const tickMs = 1_000;

/** Shows a verified record: a card with payment options, and the details. */
export function Payment() {
  const { record, intent, token } = useAbout();
  const { say } = useSpeech();
  useTick(tickMs);
  const news = useNews(record.address);
  const { simulated, again } = useSimulation(record.address, news.status);
  const isPatient = usePatience();
  const simulation = simulated.kind === "done" ? simulated.simulation : undefined;
  const standing = decideStanding(intent, news, simulation, Math.floor(Date.now() / 1000));
  const isFinal = isOver(standing);
  const { owed } = standing;
  const { view, wallets, pay } = useWalletFlow(standing, news.status);
  const isListed = token !== undefined;
  const hazards = useMemo(() => findHazards(intent, isListed), [intent, isListed]);
  const isReturned = isFinal && standing.state !== "executed";
  const receipt = isFinal && <Receipt {...{ standing, news }} />;
  const hasAnswer = news.status !== undefined || news.isUnknown;
  const isWaiting = isPatient && !(hasAnswer && (isFinal || simulated.kind !== "loading"));

  const buttons = owed !== "0" && <WalletButtons wallets={wallets} onPay={pay} />;

  return (
    <div className="pay-columns">
      <div className="space-y-3">
        {hazards.length > 0 && (
          <div className={isFinal ? "space-y-3 print:hidden" : "space-y-3"}>
            {hazards.map(({ tone, title, call }) => (
              <Notice key={title + call} tone={tone} title={say(title, { n: call ?? 0 })}>
                <p>{say(`${title}Text`)}</p>
              </Notice>
            ))}
          </div>
        )}
        <section className="card pay-card">
          <div className="ask-head">
            <Head {...{ standing, news, isWaiting }} />
            <Rail standing={standing} isSent={view.hash !== undefined} />
          </div>
          <Misdirected standing={standing} status={news.status} />
          <WalletNotice view={view} explorer={news.status?.explorer} />
          {isInProgress(view) ? (
            receipt
          ) : isWaiting ? (
            <div className="ask-waiting">
              <p className="sr-only">{say("checkingRun")}</p>
              <Loading lines={5} />
            </div>
          ) : (
            <Body standing={standing} hazards={hazards} receipt={receipt}>
              <Ask owed={owed} isClear={standing.doubts.length === 0} wallets={buttons} />
            </Body>
          )}
        </section>
        <ReturnTo isFinal={isFinal} />
        {news.status && news.status.recoveries.length + news.status.recoverable.length > 0 && (
          <section className="card folded">
            <h2 className="mb-2">{say(isReturned ? "recoveryAddress" : "otherMoney")}</h2>
            <OtherMoney status={news.status} />
          </section>
        )}
        {/* This card is hidden while the payment above loads. Otherwise, loading the payment would
            move the card. */}
        <ReturnsCard isHidden={isWaiting} />
      </div>
      <Details {...{ standing, news, simulated, hazards, isFinal }} onRetry={again} />
    </div>
  );
}

type BodyProps = {
  standing: Standing;
  hazards: readonly Hazard[];
  receipt: ReactNode;
  children: ReactNode;
};

/**
 * If the calls can no longer run, shows the receipt. Otherwise, shows the received payment, the
 * warnings, and the payment options.
 */
function Body({ standing, hazards, receipt, children }: BodyProps) {
  const { intent } = useAbout();
  const { language } = useSpeech();
  const { state } = standing;
  return (
    <>
      {(state === "partly" || state === "paid") && (
        <p className="ask-all text-soft">
          <Said
            as={`${state}Text`}
            date={sayMoment(intent.expirationTimestamp, language)}
            address={<ShortParty address={intent.recovery} />}
          />
        </p>
      )}
      {receipt}
      {/* When the calls can no longer run, new money would only go to `recovery`. The page then
          shows no payment options. */}
      {!isOver(standing) && (
        <Doubts standing={standing} hazards={hazards}>
          {children}
        </Doubts>
      )}
    </>
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

/**
 * Reads `?return_to=https://…`, the URL of the shop's page. Returns undefined unless the URL is a
 * plain https URL.
 */
function readReturnTo(search: string): URL | undefined {
  const text = new URLSearchParams(search).get("return_to");
  const url = text && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" || url.username || url.password) return undefined;
  return url;
}

/**
 * Links to the shop's page. Anyone can write the URL of this link (`return_to`). The payment page
 * therefore shows the URL's host, and never opens the link automatically.
 */
function ReturnTo({ isFinal }: { isFinal: boolean }) {
  const url = readReturnTo(window.location.search);
  if (!url) return null;
  if (!isFinal) {
    return (
      <p className="text-center text-sm text-soft">
        <Said as="backLater" host={url.host} />
      </p>
    );
  }
  return (
    <p className="text-center print:hidden">
      <a className="button button-primary" href={url.href} rel="noreferrer">
        <span className="truncate">
          <Said as="backTo" host={url.host} />
        </span>
      </a>
    </p>
  );
}

/**
 * The reasons for warnings on the page. Executed and expired addresses need no warning, because
 * they have no payment options.
 */
type ShownDoubt = Exclude<Doubt, "executed" | "expired">;

const texts: Record<ShownDoubt, Key> = {
  unknown: "doubtUnknown",
  enough: "doubtEnough",
  fails: "doubtFails",
  soon: "doubtSoon",
  silent: "doubtSilent",
};

type DoubtsProps = { standing: Standing; hazards: readonly Hazard[]; children: ReactNode };

/** Explains why the user should not pay. A button shows the payment options anyway. */
function Doubts({ standing, hazards, children }: DoubtsProps) {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  const [shown, setShown] = useState<string>();
  const { secondsLeft } = standing;
  const isStuck = standing.state === "stuck";
  const reason = useReason(standing);
  const doubts = standing.doubts.filter((doubt) => doubt in texts) as ShownDoubt[];
  const { isCovered, isPayable, isGrave } = decideOffer(standing, hazards);
  // A new warning hides the payment options again. The user has accepted only the earlier warnings.
  const present = [...doubts, isCovered].join();
  if (isPayable) return children;
  const isShown = shown === present;
  const isWarning = isCovered || isGrave;
  return (
    <>
      <div className="ask-all">
        <Notice
          tone={isWarning ? "warn" : "plain"}
          title={isWarning && !isStuck ? say("notOffered") : undefined}
        >
          {isCovered && <p>{say("lookFirst")}</p>}
          {doubts.map((doubt) => (
            <p key={doubt}>
              {(isStuck || doubt === "fails") && `${reason} `}
              <Said
                as={isStuck ? "stuckText" : texts[doubt]}
                date={sayMoment(intent.expirationTimestamp, language)}
                time={saySpan(Math.max(0, secondsLeft), say)}
                address={<ShortParty address={intent.recovery} />}
              />
            </p>
          ))}
          {!isShown && (
            <Button small className="mt-3" onClick={() => setShown(present)}>
              {say("payAnyway")}
            </Button>
          )}
        </Notice>
      </div>
      {isShown && children}
    </>
  );
}

/**
 * Explains to the payer why the calls fail. The details show the text of the contract or the
 * server.
 */
function useReason({ failedCall }: Standing): string {
  const { intent, chains, sayAmount } = useAbout();
  const { say } = useSpeech();
  const sent = sumTransfers(intent, chains);
  if (sent !== undefined && sent > BigInt(intent.amount)) {
    const values = { sent: sayAmount(`${sent}`), amount: sayAmount(intent.amount) };
    return say("asksTooLittle", values);
  }
  return failedCall === null ? say("serverFails") : say("callFails", { n: failedCall + 1 });
}
