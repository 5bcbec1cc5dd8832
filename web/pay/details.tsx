// The details of the payment: money flow, calls, simulation, evidence, and returns.

import type { Hazard, News, Standing } from "executable-address-element/page";
import { memo, type ReactNode, Suspense, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { Whole, WholeAddress } from "../shown/address-text.tsx";
import { nowSeconds } from "../shown/news.ts";
import type { Simulated } from "../shown/simulation.ts";
import { Said, useSpeech } from "../shown/words/say.tsx";
import { sayMoment } from "../shown/words/say-when.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Definitions } from "../ui/definition.tsx";
import { Badge } from "../ui/notice.tsx";
import { Calls, ProvedFlow, Returns, WouldHappen } from "./later.tsx";

type DetailsProps = {
  standing: Standing;
  news: News;
  simulated: Simulated;
  hazards: readonly Hazard[];
  isFinal: boolean;
  onRetry: () => void;
};

/**
 * Memoized, because the page is rendered every second, but these components change only with the
 * record.
 */
const StillCalls = memo(Calls);
const StillOtherwise = memo(Otherwise);
const StillEvidence = memo(Evidence);

/**
 * On wide screens, the details are expanded beside the card. On narrow screens, the details are
 * collapsed below the card.
 */
const besideFrom = "(width >= 72rem)";

/**
 * Shows everything except the payment options. The details are expanded on wide screens, or if they
 * contain a warning or the outcome.
 */
export function Details(props: DetailsProps) {
  const { say } = useSpeech();
  const { standing, news, simulated, hazards, isFinal, onRetry } = props;
  const simulation = simulated.kind === "done" ? simulated.simulation : undefined;
  const isNeeded =
    hazards.length > 0 || simulation?.outcome === "fails" || standing.state === "executed";
  const isOpen = isNeeded || window.matchMedia(besideFrom).matches;
  // Collapsed details are not rendered until the user opens them. On a phone, rendering them would
  // double the time until the QR code appears.
  const [wasOpened, setOpened] = useState(false);
  return (
    <details
      className="card folded details print:hidden"
      open={isOpen}
      onToggle={() => setOpened(true)}
    >
      <summary>
        <h2>{say("details")}</h2>
        <Badge>{say("termsMatch")}</Badge>
      </summary>
      {(isOpen || wasOpened) && (
        <Suspense fallback={<div className="place" />}>
          {!isFinal && (
            <Section title={say("flowTitle")}>
              <ProvedFlow
                status={news.status}
                simulation={simulation}
                isSimulating={simulated.kind === "loading"}
                nowSeconds={nowSeconds(news)}
              />
            </Section>
          )}
          <Section title={say("doesTitle")}>
            <p className="mb-4 text-soft">{say("doesText")}</p>
            <StillCalls />
          </Section>
          {!isFinal && simulated.kind !== "not_held" && (
            <Section title={say("wouldTitle")}>
              <WouldHappen {...{ simulated, standing, onRetry }} />
            </Section>
          )}
          {standing.state !== "executed" && (
            <Section title={say("otherwiseTitle")}>
              <StillOtherwise />
            </Section>
          )}
          <Section title={say("checkedTitle")}>
            <StillEvidence />
          </Section>
        </Suspense>
      )}
    </details>
  );
}

const returnsId = "returns";

/**
 * Explains, for each mistake that a payer can make, where the money goes. Collapsed at first. This
 * explanation is useful even after the outcome, for example if a payer pays again.
 */
export function ReturnsCard({ isHidden }: { isHidden: boolean }) {
  const { say } = useSpeech();
  const [wasOpened, setOpened] = useState(false);
  return (
    <details
      id={returnsId}
      hidden={isHidden}
      className="card folded print:hidden"
      onToggle={() => setOpened(true)}
    >
      <summary>
        <h2>{say("returnsTitle")}</h2>
      </summary>
      {wasOpened && <Returns />}
    </details>
  );
}

/**
 * Expands the card about returns. A link instead of a button would replace the URL's fragment,
 * which can contain the terms.
 */
function ReturnsButton() {
  const { say } = useSpeech();
  const open = () => {
    const card = document.getElementById(returnsId) as HTMLDetailsElement | null;
    if (!card) return;
    card.open = true;
    card.querySelector("summary")?.focus();
  };
  return (
    <button type="button" className="link" onClick={open}>
      {say("returnsTitle")}
    </button>
  );
}

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="pt-4">
    <h3 className="mb-2">{title}</h3>
    {children}
  </section>
);

/** Explains where the money goes if the calls do not run. */
function Otherwise() {
  const { intent } = useAbout();
  const { say, language } = useSpeech();
  return (
    <>
      <p className="mb-3 text-soft">
        {say("otherwiseText")} <ReturnsButton />
      </p>
      <Definitions
        items={[
          [say("recoveryAddress"), <WholeAddress key="to" address={intent.recovery} />],
          [say("expires"), sayMoment(intent.expirationTimestamp, language)],
        ]}
      />
    </>
  );
}

/** Lists the inputs from which the address is derived. */
function Evidence() {
  const { record, intent } = useAbout();
  const { say } = useSpeech();
  return (
    <>
      <p className="mb-3 text-soft">{say("checkedText")}</p>
      <Definitions
        items={[
          [say("factory"), <WholeAddress key="factory" address={record.factory} />],
          [say("token"), <WholeAddress key="token" address={intent.token} />],
          [say("units"), <Whole key="amount" text={intent.amount} />],
          [say("chain"), intent.chainId],
          [say("salt"), <Whole key="salt" text={intent.salt} />],
          [
            say("terms"),
            <span key="terms" className="flex items-center gap-2">
              <span>
                <Said as="bytes" n={(record.terms.length - 2) / 2} />
              </span>
              <CopyButton look="bare" text={record.terms} what={say("terms")} />
            </span>,
          ],
          [
            say("withoutServer"),
            <a key="link" className="link" href={`/a/#terms=${record.terms}`}>
              {say("fromTerms")}
            </a>,
          ],
        ]}
      />
    </>
  );
}
