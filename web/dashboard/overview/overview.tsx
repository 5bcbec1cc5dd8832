import { useState } from "react";
import { Link } from "wouter";
import { Icon } from "../../ui/icon.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Failed, Loading } from "../../ui/states.tsx";
import type { Config, Credentials, Origins } from "../api.ts";
import { Heading } from "../heading.tsx";
import { sayProblem } from "../problems.ts";
import { useConfig, useCredentials, useOrigins } from "../queries.ts";
import { FirstAddress } from "./first-address.tsx";
import { Money } from "./money-card.tsx";
import { Usage } from "./usage.tsx";

export function Overview() {
  const credentials = useCredentials();
  const origins = useOrigins();
  const config = useConfig();
  const failed = [credentials, origins, config].find((query) => query.isError);
  const ready = credentials.data && origins.data && config.data;
  return (
    <>
      <Heading title="Overview">
        Make an address for a payment, share it, and the money sent to it does what you wrote.
      </Heading>
      {failed && (
        <Failed message={sayProblem(failed.error)} onRetry={() => void failed.refetch()} />
      )}
      {!failed && !ready && (
        <div className="card">
          <Loading lines={5} />
        </div>
      )}
      {!failed && ready && (
        <Sections credentials={credentials.data} origins={origins.data} config={config.data} />
      )}
    </>
  );
}

type SectionsProps = { credentials: Credentials; origins: Origins; config: Config };

/**
 * An account at work wants its figures first, a new one its first steps. Decided once: nothing may
 * jump under the pointer because the first use was counted meanwhile.
 */
function Sections({ credentials, origins, config }: SectionsProps) {
  const [isNew] = useState(
    ![...credentials.apiKeys, credentials.clientId].some((each) => each?.lastUsedAt),
  );
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
  if (!credentials.apiKeys.some(({ seenInBrowserAt }) => seenInBrowserAt)) return null;
  return (
    <Notice
      tone="bad"
      title="Your API key was seen in a browser"
      action={
        <Link href="/credentials" className="link font-medium">
          Rotate it now
        </Link>
      }
    >
      <p>
        A request with it came from a web page. It was refused, but whoever can read that page can
        read the key.
      </p>
    </Notice>
  );
}

/** Shows what is left to do before the first address, then the first address itself. */
function Steps({ isNew, credentials, origins, config }: SectionsProps & { isNew: boolean }) {
  const hasKey = credentials.apiKeys.length > 0;
  const hasOrigin = origins.origins.length > 0;
  return (
    <section aria-labelledby="start" className="card">
      <h2 id="start" className="px-5 pt-5">
        {isNew ? "Start here" : "Ways to create addresses"}
      </h2>
      <ol className="divide-y divide-line px-5">
        <Step done={hasKey} title="From a server: an API key" href="/credentials">
          {hasKey ? "You have one. It is secret." : "Secret, shown once. Takes one click."}
        </Step>
        <Step done={hasOrigin} title="From a web page: an allowed origin" href="/origins">
          {hasOrigin
            ? `${origins.origins.length} of ${origins.max} allowed for your client ID.`
            : "Your client ID works only in pages of origins you list."}
        </Step>
      </ol>
      <div className="border-t border-line p-5">
        <details open={isNew}>
          <summary className="mb-3 cursor-pointer font-semibold">An address to try</summary>
          <FirstAddress clientId={credentials.clientId?.clientId} config={config} />
        </details>
      </div>
    </section>
  );
}

type StepProps = { done: boolean; title: string; href: string; children: string };

function Step({ done, title, href, children }: StepProps) {
  return (
    <li className="flex items-center gap-4 py-4">
      <span
        className={`flex size-7 flex-none items-center justify-center rounded-full border ${
          done ? "border-accent bg-accent text-on-accent" : "border-edge text-transparent"
        }`}
      >
        <Icon name="check" size={15} />
        <span className="sr-only">{done ? "Done" : "To do"}</span>
      </span>
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        <p className="text-sm text-soft">{children}</p>
      </div>
      <Link
        href={href}
        className={`button button-small ${done ? "button-bare" : "button-primary"}`}
        aria-label={`${done ? "Manage" : "Set up"}: ${title}`}
      >
        {done ? "Manage" : "Set up"}
      </Link>
    </li>
  );
}
