import type { Doubt, Standing } from "executable-address-element/page";
import { type ReactNode, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { InertText } from "../shown/inert-text.tsx";
import type { Key } from "../shown/words/languages.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment, saySpan } from "../shown/words/say-when.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";

const texts: Record<Doubt, Key> = {
  executed: "doubtExecuted",
  expired: "doubtExpired",
  enough: "doubtEnough",
  fails: "doubtFails",
  soon: "doubtSoon",
  silent: "doubtSilent",
};

type DoubtsProps = { standing: Standing; children: ReactNode };

/** Says why paying is not offered, with a button that offers it all the same. */
export function Doubts({ standing, children }: DoubtsProps) {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  const [shown, setShown] = useState<string>();
  const { doubts, secondsLeft } = standing;
  // A new doubt takes the payment away again: the press was for the doubts that were shown.
  const present = doubts.join();
  if (doubts.length === 0) return children;
  const isShown = shown === present;
  const isGrave = doubts[0] !== "executed" && doubts[0] !== "enough";
  return (
    <>
      <div className="ask-all">
        <Notice tone={isGrave ? "warn" : "plain"} title={isGrave ? say("notOffered") : undefined}>
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
