// The head of the payment card: requester, amount, state, progress, and time left.

import { requestedAmount } from "executable-address";
import {
  findStateWord,
  formatUnits,
  isOver,
  type News,
  plainUnits,
  type Standing,
} from "executable-address-element/page";
import { useEffect, useRef } from "react";
import { useAbout } from "../shown/about.tsx";
import { ChosenBy, SentenceText, ShortParty } from "../shown/address-text.tsx";
import { sayCall, sayIntent } from "../shown/reading.ts";
import type { Key } from "../shown/words/languages.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayClock, sayMoment, saySpan } from "../shown/words/say-when.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Badge } from "../ui/notice.tsx";
import { Shop } from "./later.tsx";

type HeadProps = {
  standing: Standing;
  news: News;
  /**
   * True while the page waits for the first status and simulation. During this wait, the page shows
   * the time left only if it knows the chain's time.
   */
  isWaiting: boolean;
};

/** Shows who requests the payment, the amount, the network, the effect, and the time left. */
export function Head({ standing, news, isWaiting }: HeadProps) {
  const { record, intent, facts, token, chainName, sayAmount } = useAbout();
  const { say } = useSpeech();
  const isPartly = standing.state === "partly";
  const isPayable = !isOver(standing) && standing.owed !== "0";
  const amount = sayAmount(isPartly ? standing.owed : requestedAmount(intent));
  const payee = facts.requester ?? facts.labels[record.address.toLowerCase()];
  useEffect(() => {
    document.title = `${amount} · ${say("title")}`;
  }, [amount, say]);

  return (
    <div className="min-w-0">
      <Shop />
      {payee && <p className="payee">{payee}</p>}
      <p className="flex flex-wrap justify-between gap-x-3 text-soft">
        <span>{say(!isPayable ? "wasToPay" : isPartly ? "stillToPay" : "toPay")}</span>
        <TimeLeft {...{ standing, news, isWaiting }} />
      </p>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <h1 className="amount">
          {!isPayable ? (
            <bdi dir="ltr">{amount}</bdi>
          ) : (
            <CopyButton
              look="bare"
              className="amount-button"
              text={plainUnits(standing.owed, token?.decimals ?? 0)}
              what={amount}
            >
              <bdi dir="ltr">{amount}</bdi>
            </CopyButton>
          )}
        </h1>
        <p className="font-medium">
          <Said as="onChain" chain={chainName} />
          {isPartly && (
            <span className="font-normal text-soft">
              {" · "}
              <Said
                as="received"
                received={formatUnits(news.status!.balance, token?.decimals ?? 0)}
                amount={sayAmount(requestedAmount(intent))}
              />
            </span>
          )}
        </p>
      </div>
      {!isOver(standing) && <Effect />}
      <StateLine {...{ standing, news }} />
    </div>
  );
}

/**
 * If an intent has more calls than this, the head of the card lists no recipients. The details list
 * all recipients.
 */
const sharesMax = 4;

/**
 * Summarizes the payment in one sentence. If the payment goes to a few recipients, also lists their
 * shares. After the outcome, the receipt replaces this summary.
 */
function Effect() {
  const { chains, intent, token } = useAbout();
  const { say } = useSpeech();
  const sentence = sayIntent(intent, chains, say);
  const isListed = sentence.as === "sumTransfers" && intent.calls.length <= sharesMax;
  const shares = isListed ? intent.calls.map((call) => sayCall(call, token, say)!) : [];
  // Limits the width to the space beside the QR code. Otherwise, the lines would wrap differently
  // after the QR code disappears.
  return (
    <div className="mt-2 max-w-96 text-soft">
      <p>
        <SentenceText sentence={sentence} address={ShortParty} /> <ChosenBy />
      </p>
      {shares.length > 0 && (
        <ul>
          {shares.map((share, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the calls of an intent never change
            <li key={at}>
              <SentenceText sentence={share} address={ShortParty} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const tones: Readonly<Record<Standing["state"], "plain" | "good" | "warn">> = {
  unknown: "plain",
  unfunded: "plain",
  partly: "warn",
  paid: "good",
  stuck: "warn",
  executed: "good",
  expired: "warn",
  recovered: "plain",
};

/**
 * Shows the state. If updates are missing, also shows the time of the last update. Screen readers
 * announce changes of the state.
 */
function StateLine({ standing, news }: Omit<HeadProps, "isWaiting">) {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  const { isSilent, updatedAtMs, isUnknown } = news;
  return (
    <div className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
      <span role="status">
        <Badge tone={tones[standing.state]}>{say(findStateWord(standing))}</Badge>
      </span>
      {standing.state === "expired" && (
        <span className="text-soft">
          <Said as="expiredOn" date={sayMoment(intent.expirationTimestamp, language)} />
        </span>
      )}
      {isSilent && !isUnknown && (
        <span role="alert" className="text-warn">
          {updatedAtMs === undefined ? (
            say("noNewsYet")
          ) : (
            <Said as="noNewsSince" time={sayClock(updatedAtMs, language)} />
          )}
        </span>
      )}
    </div>
  );
}

function TimeLeft({ standing, news, isWaiting }: HeadProps) {
  const { say } = useSpeech();
  const { secondsLeft } = standing;
  if (isOver(standing) || secondsLeft < 0) return null;
  if (isWaiting && news.chainSeconds() === undefined) return null;
  return (
    <span className="text-sm">
      <Said as="timeLeft" time={saySpan(secondsLeft, say)} />
      {news.chainSeconds() === undefined && <> ({say("byThisClock")})</>}
    </span>
  );
}

const steps: readonly Key[] = ["stepRequested", "stepSent", "paidBy", "stateExecuted"];

type RailProps = { standing: Standing; isSent: boolean };

/**
 * Shows the steps of the payment, and marks the completed steps. If the page was open during two
 * successive steps, also shows the time between them.
 */
export function Rail({ standing: { state }, isSent }: RailProps) {
  const { say } = useSpeech();
  const reached =
    state === "executed" ? 3 : state === "paid" || state === "stuck" ? 2 : isSent ? 1 : 0;
  const since = useRef<{ reached: number; ms: number }[]>([]);
  const last = since.current.at(-1);
  if (state !== "unknown" && (!last || last.reached < reached))
    since.current.push({ reached, ms: Date.now() });
  if (reached === 0 && (state === "expired" || state === "recovered")) return null;
  const findSeconds = (step: number) => {
    const at = since.current.findIndex((each) => each.reached === step);
    if (at < 1) return undefined;
    return Math.round((since.current[at]!.ms - since.current[at - 1]!.ms) / 1000);
  };
  return (
    <ol className={reached === 0 ? "rail rail-start" : "rail"}>
      {steps.map((step, at) => {
        const seconds = findSeconds(at);
        return (
          <li
            key={step}
            className={at <= reached ? "rail-done" : ""}
            aria-current={at === reached ? "step" : undefined}
          >
            <span>{say(step)}</span>
            {seconds !== undefined && at <= reached && (
              <span className="text-soft">{saySpan(seconds, say)}</span>
            )}
          </li>
        );
      })}
    </ol>
  );
}
