// The overview page: the first steps of a new account, warnings, and statistics.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { Icon } from "../../ui/icon.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Empty, Loading } from "../../ui/states.tsx";
import { addresses } from "../addresses/api.ts";
import { toFilter, untyped } from "../addresses/filter-query.ts";
import type { Config, Credentials, Origins, UsageHour } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayCount } from "../money.ts";
import { Chart } from "../parts/chart.tsx";
import { saySpan } from "../parts/say-time.ts";
import { useConfig, useCredentials, useMoney, useOrigins, useUsage } from "../queries.ts";
import { Failed, QueryState } from "../query-state.tsx";
import { useSpeech } from "../words/speech.ts";
import { makeBars, sum } from "./bars.ts";
import { FirstAddress } from "./first-address.tsx";
import { Money } from "./money-card.tsx";

export function Overview() {
  const { say } = useSpeech();
  const credentials = useCredentials();
  const origins = useOrigins();
  const config = useConfig();
  const newest = useNewest();
  const failed = [credentials, origins, config, newest].find((query) => query.isError);
  // The page also waits for the statistics. If the statistics appeared later, they would move the
  // content below them. If the statistics cannot be loaded, their card shows the error.
  const figures = [useMoney(), useUsage(firstSpan.hours)];
  const hasFigures = figures.every((query) => !query.isPending);
  const ready = credentials.data && origins.data && config.data && newest.data && hasFigures;
  return (
    <>
      <Heading title={say("overview")}>{say("overviewText")}</Heading>
      {failed && <Failed query={failed} />}
      {!failed && !ready && (
        <div className="card">
          <Loading lines={5} />
        </div>
      )}
      {!failed && ready && (
        <Sections
          hasAddress={newest.data.items.length > 0}
          credentials={credentials.data}
          origins={origins.data}
          config={config.data}
        />
      )}
    </>
  );
}

/**
 * Requests the newest address each time the page opens. A button on this page can create the first
 * address. A cached response could then be outdated.
 */
const useNewest = () =>
  useQuery({
    queryKey: ["newest-address"],
    queryFn: () => addresses.list(toFilter(untyped), null, 1),
    gcTime: 0,
  });

type StepsProps = { credentials: Credentials; origins: Origins; config: Config };

/**
 * If the account has an address, shows the statistics above the first steps. Otherwise, shows the
 * first steps above the statistics. The sections stay in place while the page is open. Otherwise,
 * the user could press a wrong button.
 */
function Sections(props: StepsProps & { hasAddress: boolean }) {
  const { credentials, origins, config } = props;
  const [isNew] = useState(!props.hasAddress);
  return (
    <div className="flex flex-col gap-6">
      <Warnings credentials={credentials} />
      {!isNew && <Money />}
      {!isNew && <Usage />}
      <Steps isNew={isNew} credentials={credentials} origins={origins} config={config} />
      {isNew && <Money />}
      {isNew && <Usage />}
    </div>
  );
}

function Warnings({ credentials }: { credentials: Credentials }) {
  const { say } = useSpeech();
  if (!credentials.apiKeys.some(({ seenInBrowserAt }) => seenInBrowserAt)) return null;
  return (
    <Notice
      tone="bad"
      title={say("keySeen")}
      action={
        <Link href="/credentials" className="link font-medium">
          {say("rotateItNow")}
        </Link>
      }
    >
      <p>{say("keySeenText")}</p>
    </Notice>
  );
}

/** Shows the remaining steps before the first address. */
function Steps({ isNew, credentials, origins, config }: StepsProps & { isNew: boolean }) {
  const { say } = useSpeech();
  const hasKey = credentials.apiKeys.length > 0;
  const hasOrigin = origins.origins.length > 0;
  return (
    <section aria-labelledby="start" className="card">
      <h2 id="start" className="px-5 pt-5">
        {say(isNew ? "startHere" : "waysToCreate")}
      </h2>
      <div className="p-5">
        <details open={isNew}>
          <summary className="mb-3 cursor-pointer font-semibold">{say("addressToTry")}</summary>
          <FirstAddress clientId={credentials.clientId.clientId} config={config} />
        </details>
      </div>
      <ol className="divide-y divide-line border-t border-line px-5">
        <Step done={hasKey} title={say("fromServer")} href="/credentials">
          {say(hasKey ? "hasKey" : "hasNoKey")}
        </Step>
        <Step done={hasOrigin} title={say("fromPage")} href="/origins">
          {hasOrigin
            ? say("originsAllowed", { n: origins.origins.length, max: origins.max })
            : say("hasNoOrigin")}
        </Step>
      </ol>
    </section>
  );
}

type StepProps = { done: boolean; title: string; href: string; children: string };

function Step({ done, title, href, children }: StepProps) {
  const { say } = useSpeech();
  const action = say(done ? "manage" : "setUp");
  return (
    <li className="flex items-center gap-4 py-4">
      <span
        className={`flex size-7 flex-none items-center justify-center rounded-full border ${
          done ? "border-accent bg-accent text-on-accent" : "border-edge text-transparent"
        }`}
      >
        <Icon name="check" size={15} />
        <span className="sr-only">{say(done ? "done" : "toDo")}</span>
      </span>
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        <p className="text-sm text-soft">{children}</p>
      </div>
      <Link
        href={href}
        className={`button button-small ${done ? "button-bare" : "button-quiet"}`}
        aria-label={`${action}: ${title}`}
      >
        {action}
      </Link>
    </li>
  );
}

const spans = [
  { span: 24, unit: "hour", hours: 24, hoursPerBar: 1 },
  { span: 7, unit: "day", hours: 168, hoursPerBar: 6 },
] as const;
const firstSpan = spans[1];

function Usage() {
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
