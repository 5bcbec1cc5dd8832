import type { Hazard, News, Standing } from "executable-address-element/page";
import { memo, type ReactNode, useState } from "react";
import { nowSeconds } from "../shown/news.ts";
import type { Simulated } from "../shown/simulation.ts";
import { useSpeech } from "../shown/words/say.tsx";
import { Badge } from "../ui/notice.tsx";
import { Calls, ProvedFlow, WouldHappen } from "./later.tsx";
import { Evidence, Otherwise } from "./small-print.tsx";

type DetailsProps = {
  standing: Standing;
  news: News;
  simulated: Simulated;
  hazards: readonly Hazard[];
  isFinal: boolean;
  onRetry: () => void;
};

/** These depend on the record alone, while the page is drawn each second. */
const StillCalls = memo(Calls);
const StillOtherwise = memo(Otherwise);
const StillEvidence = memo(Evidence);

/** Beside the card where there is room, and folded below it where there is none. */
const besideFrom = "(width >= 72rem)";

/** Everything but the payment, opened where something of it is what the reader came for. */
export function Details(props: DetailsProps) {
  const { say } = useSpeech();
  const { standing, news, simulated, hazards, isFinal, onRetry } = props;
  const simulation = simulated.kind === "done" ? simulated.simulation : undefined;
  const isNeeded =
    hazards.length > 0 || simulation?.outcome === "fails" || standing.state === "executed";
  const isOpen = isNeeded || window.matchMedia(besideFrom).matches;
  // What is folded is half of what a phone would have to draw before the code.
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
        <>
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
              <WouldHappen simulated={simulated} onRetry={onRetry} />
            </Section>
          )}
          <Section title={say("otherwiseTitle")}>
            <StillOtherwise />
          </Section>
          <Section title={say("lateTitle")}>
            <p>{say("lateText")}</p>
          </Section>
          <Section title={say("checkedTitle")}>
            <StillEvidence />
          </Section>
        </>
      )}
    </details>
  );
}

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="pt-4">
    <h3 className="mb-2">{title}</h3>
    {children}
  </section>
);
