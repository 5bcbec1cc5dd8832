import {
  coversPayment,
  type Doubt,
  type Hazard,
  type Standing,
} from "executable-address-element/page";
import { type ReactNode, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { InertText } from "../shown/inert-text.tsx";
import type { Key } from "../shown/words/languages.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment, saySpan } from "../shown/words/say-when.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";

/** Of an address that is over nothing is offered, so nothing has to be said against paying it. */
type Weighed = Exclude<Doubt, "executed" | "expired">;

const texts: Record<Weighed, Key> = {
  unknown: "doubtUnknown",
  enough: "doubtEnough",
  fails: "doubtFails",
  soon: "doubtSoon",
  silent: "doubtSilent",
};

type DoubtsProps = { standing: Standing; hazards: readonly Hazard[]; children: ReactNode };

/** Says why paying is not offered, with a button that offers it all the same. */
export function Doubts({ standing, hazards, children }: DoubtsProps) {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  const [shown, setShown] = useState<string>();
  const { secondsLeft } = standing;
  const doubts = standing.doubts.filter((doubt) => doubt in texts) as Weighed[];
  const isHazardous = hazards.some(coversPayment);
  // A new doubt takes the payment away again: the press was for the doubts that were shown.
  const present = [...doubts, isHazardous].join();
  if (doubts.length === 0 && !isHazardous) return children;
  const isShown = shown === present;
  const isGrave = isHazardous || doubts[0] !== "enough";
  return (
    <>
      <div className="ask-all">
        <Notice tone={isGrave ? "warn" : "plain"} title={isGrave ? say("notOffered") : undefined}>
          {isHazardous && <p>{say("lookFirst")}</p>}
          {doubts.map((doubt) => (
            <p key={doubt}>
              <Said
                as={texts[doubt]}
                reason={<Reason standing={standing} />}
                date={sayMoment(intent.expirationTimestamp, language)}
                time={saySpan(Math.max(0, secondsLeft), say)}
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

/** In a contract's or a server's words, so inert; with the call it is of. */
export function Reason({ standing: { reason, failedCall } }: { standing: Standing }) {
  const { say } = useSpeech();
  return (
    <>
      {failedCall !== null && <>{say("callFails", { n: failedCall + 1 })}: </>}
      {reason ? (
        <>
          “<InertText text={reason} />”
        </>
      ) : (
        say("noReason")
      )}
    </>
  );
}
