import type { Hazard, News, Standing } from "executable-address/page";
import type { ReactNode } from "react";
import { Calls } from "../shown/calls.tsx";
import { nowSeconds } from "../shown/news.ts";
import type { Simulated } from "../shown/simulation.ts";
import { useSpeech } from "../shown/words/say.tsx";
import { Badge } from "../ui/notice.tsx";
import { Doubts } from "./doubts.tsx";
import { MoneyFlow } from "./later.tsx";
import { WouldHappen } from "./live/simulation-card.tsx";
import { Evidence, Otherwise } from "./small-print.tsx";

type DetailsProps = {
  standing: Standing;
  news: News;
  simulated: Simulated;
  hazards: readonly Hazard[];
  isFinal: boolean;
  ask: ReactNode;
  onRetry: () => void;
};

/** Beside the card where there is room, and folded below it where there is none. */
const besideFrom = "(width >= 72rem)";

/** Everything but the payment, opened where something of it is what the reader came for. */
export function Details(props: DetailsProps) {
  const { say } = useSpeech();
  const { standing, news, simulated, hazards, isFinal, ask, onRetry } = props;
  const simulation = simulated.kind === "done" ? simulated.simulation : undefined;
  const isNeeded =
    hazards.length > 0 || simulation?.outcome === "fails" || standing.state === "executed";
  return (
    <details
      className="card folded details print:hidden"
      open={isNeeded || window.matchMedia(besideFrom).matches}
    >
      <summary>
        <h2>{say("details")}</h2>
        <Badge>{say("termsMatch")}</Badge>
      </summary>
      {!isFinal && (
        <Section title={say("flowTitle")}>
          <MoneyFlow
            status={news.status}
            simulation={simulation}
            proved={undefined}
            isSimulating={simulated.kind === "loading"}
            nowSeconds={nowSeconds(news)}
          />
        </Section>
      )}
      <Section title={say("doesTitle")}>
        <p className="mb-4 text-soft">{say("doesText")}</p>
        <Calls />
      </Section>
      {!isFinal && simulated.kind !== "not_held" && (
        <Section title={say("wouldTitle")}>
          <WouldHappen simulated={simulated} onRetry={onRetry} />
        </Section>
      )}
      <Section title={say("otherwiseTitle")}>
        <Otherwise />
      </Section>
      <Section title={say("lateTitle")}>
        <p>{say("lateText")}</p>
        {standing.state === "executed" && (
          <div className="pay-card !px-0">
            <Doubts standing={standing}>{ask}</Doubts>
          </div>
        )}
      </Section>
      <Section title={say("checkedTitle")}>
        <Evidence />
      </Section>
    </details>
  );
}

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="pt-4">
    <h3 className="mb-2">{title}</h3>
    {children}
  </section>
);
