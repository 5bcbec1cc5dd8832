import { useState } from "react";
import { Chart } from "../../ui/chart.tsx";
import { Empty } from "../../ui/states.tsx";
import type { UsageHour } from "../api.ts";
import { useUsage } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { barsOf, sum } from "./bars.ts";

const spans = [
  { name: "24 hours", hours: 24, hoursPerBar: 1 },
  { name: "7 days", hours: 168, hoursPerBar: 6 },
] as const;

export function Usage() {
  const [span, setSpan] = useState<(typeof spans)[number]>(spans[1]);
  const usage = useUsage(span.hours);
  const hours = usage.data?.hours ?? [];
  const total = sum(hours);
  return (
    <section aria-labelledby="usage" className="card p-5">
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <h2 id="usage">Usage</h2>
        <fieldset className="flex gap-1">
          <legend className="sr-only">Span of time</legend>
          {spans.map((choice) => (
            <button
              key={choice.name}
              type="button"
              aria-pressed={choice === span}
              onClick={() => setSpan(choice)}
              className={`button button-bare button-small ${
                choice === span ? "bg-sunken !text-ink" : ""
              }`}
            >
              {choice.name}
            </button>
          ))}
        </fieldset>
      </div>
      <QueryState query={usage} lines={4} />
      {usage.data && total.created + total.refused === 0 && (
        <Empty icon="overview" title="No requests yet">
          Addresses created and requests refused show here, hour by hour.
        </Empty>
      )}
      {usage.data && total.created + total.refused > 0 && (
        <>
          <Totals hours={hours} />
          <Chart
            title={`${total.created} created and ${total.refused} refused in ${span.name}`}
            bars={barsOf(hours, span)}
            fills={["chart-good", "chart-bad"]}
            sayMost={String}
          />
        </>
      )}
    </section>
  );
}

function Totals({ hours }: { hours: readonly UsageHour[] }) {
  const total = sum(hours);
  const byKey = hours.reduce((count, hour) => count + hour.apiKey.created, 0);
  return (
    <dl className="mb-4 flex flex-wrap gap-x-10 gap-y-3">
      <Figure swatch="bg-accent" name="Created" value={total.created}>
        {byKey} by API key, {total.created - byKey} by client ID
      </Figure>
      <Figure swatch="bg-danger" name="Refused" value={total.refused} />
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
      <dd className="text-2xl font-semibold tabular-nums">{props.value.toLocaleString("en")}</dd>
      {props.children && <dd className="text-sm text-soft">{props.children}</dd>}
    </div>
  );
}
