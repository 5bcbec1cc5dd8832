import { useState } from "react";
import { Link } from "wouter";
import { Empty } from "../../ui/states.tsx";
import type { UsageHour } from "../api.ts";
import { sayCount } from "../money.ts";
import { Chart } from "../parts/chart.tsx";
import { saySpan } from "../parts/say-time.ts";
import { useUsage } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { useSpeech } from "../words/speech.ts";
import { makeBars, sum } from "./bars.ts";

const spans = [
  { span: 24, unit: "hour", hours: 24, hoursPerBar: 1 },
  { span: 7, unit: "day", hours: 168, hoursPerBar: 6 },
] as const;
export const firstSpan = spans[1];

export function Usage() {
  const { say } = useSpeech();
  const nameOf = ({ span, unit }: (typeof spans)[number]) => saySpan(span, unit, "long");
  const [span, setSpan] = useState<(typeof spans)[number]>(firstSpan);
  const usage = useUsage(span.hours);
  const hours = usage.data?.hours ?? [];
  const total = sum(hours);
  return (
    <section aria-labelledby="usage" className="card p-5">
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <h2 id="usage">{say("usage")}</h2>
        <fieldset className="flex gap-1">
          <legend className="sr-only">{say("spanOfTime")}</legend>
          {spans.map((choice) => (
            <button
              key={choice.unit}
              type="button"
              aria-pressed={choice === span}
              onClick={() => setSpan(choice)}
              className={`button button-bare button-small ${
                choice === span ? "bg-sunken !text-ink" : ""
              }`}
            >
              {nameOf(choice)}
            </button>
          ))}
        </fieldset>
      </div>
      <QueryState query={usage} lines={4} />
      {usage.data && total.created + total.refused === 0 && (
        <Empty
          icon="overview"
          title={say("noRequests")}
          action={
            <Link href="/addresses/new" className="button button-quiet">
              {say("newAddress")}
            </Link>
          }
        >
          {say("noRequestsText")}
        </Empty>
      )}
      {usage.data && total.created + total.refused > 0 && (
        <>
          <Totals hours={hours} />
          <Chart
            title={say("usageTitle", { ...total, span: nameOf(span) })}
            bars={makeBars(hours, span, say)}
            fills={["chart-good", "chart-bad"]}
            sayMost={sayCount}
          />
        </>
      )}
    </section>
  );
}

function Totals({ hours }: { hours: readonly UsageHour[] }) {
  const { say } = useSpeech();
  const total = sum(hours);
  const byKey = hours.reduce((count, hour) => count + hour.apiKey.created, 0);
  return (
    <dl className="mb-4 flex flex-wrap gap-x-10 gap-y-3">
      <Figure swatch="bg-accent" name={say("created")} value={total.created}>
        {say("byCredential", { byKey, byClientId: total.created - byKey })}
      </Figure>
      <Figure swatch="bg-danger" name={say("refused")} value={total.refused} />
    </dl>
  );
}

function Figure(props: {
  swatch: string;
  name: string;
  value: number;
  children?: React.ReactNode;
}) {
  return (
    <div>
      <dt className="flex items-center gap-2 text-sm text-soft">
        <span className={`size-2.5 rounded-sm ${props.swatch}`} />
        {props.name}
      </dt>
      <dd className="text-2xl font-semibold tabular-nums">{sayCount(props.value)}</dd>
      {props.children && <dd className="text-sm text-soft">{props.children}</dd>}
    </div>
  );
}
