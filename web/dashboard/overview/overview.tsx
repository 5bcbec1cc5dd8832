import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { Icon } from "../../ui/icon.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Loading } from "../../ui/states.tsx";
import { addresses } from "../addresses/api.ts";
import { toFilter, untyped } from "../addresses/filter-query.ts";
import type { Config, Credentials, Origins } from "../api.ts";
import { Heading } from "../heading.tsx";
import { useConfig, useCredentials, useMoney, useOrigins, useUsage } from "../queries.ts";
import { Failed } from "../query-state.tsx";
import { useSpeech } from "../words/speech.ts";
import { FirstAddress } from "./first-address.tsx";
import { Money } from "./money-card.tsx";
import { firstSpan, Usage } from "./usage.tsx";

export function Overview() {
  const { say } = useSpeech();
  const credentials = useCredentials();
  const origins = useOrigins();
  const config = useConfig();
  const newest = useNewest();
  const failed = [credentials, origins, config, newest].find((query) => query.isError);
  // The figures load with the rest, because late figures would move the content below. If they fail
  // to load, they show their own error.
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

/** Requested at each visit, because a button on this page creates the first address. */
const useNewest = () =>
  useQuery({
    queryKey: ["newest-address"],
    queryFn: () => addresses.list(toFilter(untyped), null, 1),
    gcTime: 0,
  });

type StepsProps = { credentials: Credentials; origins: Origins; config: Config };

/**
 * An active account sees its figures first, and a new one its first steps. The order does not
 * change later, so that nothing moves under the pointer.
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
