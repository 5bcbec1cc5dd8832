import {
  coversPayment,
  type Doubt,
  type Hazard,
  type Standing,
} from "executable-address-element/page";
import { type ReactNode, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { ShortParty } from "../shown/address-text.tsx";
import { InertText } from "../shown/inert-text.tsx";
import type { Key } from "../shown/words/languages.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment, saySpan } from "../shown/words/say-when.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";

/** Nothing is offered for an address that is over, so no warning is needed. */
type ShownDoubt = Exclude<Doubt, "executed" | "expired">;

const texts: Record<ShownDoubt, Key> = {
  unknown: "doubtUnknown",
  enough: "doubtEnough",
  fails: "doubtFails",
  soon: "doubtSoon",
  silent: "doubtSilent",
};

type DoubtsProps = { standing: Standing; hazards: readonly Hazard[]; children: ReactNode };

/** Explains why payment is not recommended, with a button that shows the payment options anyway. */
export function Doubts({ standing, hazards, children }: DoubtsProps) {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  const [shown, setShown] = useState<string>();
  const { secondsLeft } = standing;
  const doubts = standing.doubts.filter((doubt) => doubt in texts) as ShownDoubt[];
  const isHazardous = hazards.some(coversPayment);
  // A new doubt hides the options again, because the user accepted only the doubts shown before.
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

/** Shows the text of a contract or a server as inert text, with the failing call. */
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
