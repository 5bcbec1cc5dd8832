// The payment page: /a/{address} or #terms=0x…. Finds the record and starts the page.

import {
  type AddressRecord,
  decodeTerms,
  fromHex,
  type Hex,
  InvalidError,
  makeRecord,
  parseAddress,
} from "executable-address";
import { findRecord } from "executable-address/client/internal";
import { type Chain, findChains } from "executable-address-element/page";
import { type ReactNode, StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Boundary } from "../ui/boundary.tsx";
import "../ui/style.css";
import "./pay.css";
import { AboutContext } from "../shown/about.tsx";
import { readFacts } from "../shown/facts.ts";
import { Said, Speaking, useSpeech } from "../shown/words/say.tsx";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { Loading } from "../ui/states.tsx";
import { ThemeButton } from "../ui/theme.tsx";
import { LanguageSelect } from "../ui/words/speech.tsx";
import { Payment } from "./payment.tsx";

function Page() {
  const { say } = useSpeech();
  const [found, setFound] = useState<PageRecord>();
  const [chains, setChains] = useState<Chain[]>();
  const [attempt, setAttempt] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt repeats the requests
  useEffect(() => {
    let stopping = new AbortController();
    const read = () => {
      // A slow response to an earlier link must not replace the record of this link.
      stopping.abort();
      stopping = new AbortController();
      const { signal } = stopping;
      void findPageRecord(readSource(window.location), signal).then((found) => {
        if (!signal.aborted) setFound(found);
      });
      void findChains("/v1", signal).then((chains) => {
        if (!signal.aborted) setChains(chains);
      });
    };
    read();
    window.addEventListener("hashchange", read);
    return () => {
      stopping.abort();
      window.removeEventListener("hashchange", read);
    };
  }, [attempt]);

  return (
    <div className="pay-page">
      <header className="flex items-center justify-between gap-2">
        <span className="flex items-center gap-2 font-semibold">
          <img src="/mark.svg" alt="" width="22" height="22" />
          <span className="max-sm:sr-only">{say("title")}</span>
        </span>
        <span className="flex items-center gap-1 print:hidden">
          <LanguageSelect />
          <ThemeButton />
        </span>
      </header>
      <main>
        <Answer found={found} chains={chains} onRetry={() => setAttempt(attempt + 1)} />
      </main>
    </div>
  );
}

type AnswerProps = {
  found: PageRecord | undefined;
  chains: Chain[] | undefined;
  onRetry: () => void;
};

const facts = readFacts(document.getElementById("facts")?.textContent);

function Answer({ found, chains, onRetry }: AnswerProps) {
  const { say } = useSpeech();
  if (!found || !chains) {
    return (
      <div className="card pay-card">
        <h1 className="sr-only">{say("checking")}</h1>
        <div className="ask-all">
          <Loading lines={8} />
        </div>
      </div>
    );
  }
  switch (found.kind) {
    case "record":
      return (
        <AboutContext value={{ record: found.record, chains, facts }}>
          <Payment key={found.record.address} />
        </AboutContext>
      );
    case "wrong":
      return (
        <div role="alert" className="rounded-2xl border-4 border-danger bg-danger-wash p-6">
          <h1 className="mb-2 text-danger">{say("wrongTitle")}</h1>
          <p>{say("wrongText")}</p>
          <ul className="mt-3 font-mono text-sm" dir="ltr">
            {found.faults.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        </div>
      );
    case "missing":
      return (
        <Plain title={say("missingTitle")}>
          <Said as="missingText" code={<code dir="ltr">#terms=0x…</code>} />
        </Plain>
      );
    case "malformed":
      return <Plain title={say("malformedTitle")}>{say("malformedText")}</Plain>;
    case "unreachable":
      return (
        <Plain title={say("unreachableTitle")} onRetry={onRetry}>
          {say("unreachableText")}
        </Plain>
      );
  }
}

type PlainProps = { title: string; children: ReactNode; onRetry?: () => void };

function Plain({ title, children, onRetry }: PlainProps) {
  const { say } = useSpeech();
  return (
    <>
      <h1 className="mb-4">{title}</h1>
      <Notice
        tone={onRetry ? "bad" : "plain"}
        action={
          onRetry && (
            <Button small onClick={onRetry}>
              {say("tryAgain")}
            </Button>
          )
        }
      >
        <p>{children}</p>
      </Notice>
    </>
  );
}

type Source = { address: string } | { terms: string };
type PageRecord =
  | { kind: "record"; record: AddressRecord }
  | { kind: "wrong"; faults: string[] }
  | { kind: "malformed" | "missing" | "unreachable" };

/**
 * Returns the address from a URL with `/a/{address}`, or the terms from a URL with `#terms=0x…`.
 * The terms take precedence, because a page with terms needs no server.
 */
function readSource({ pathname, hash }: { pathname: string; hash: string }): Source {
  const terms = new URLSearchParams(hash.slice(1)).get("terms");
  if (terms !== null) return { terms };
  return { address: pathname.split("/")[2] ?? "" };
}

/**
 * Never throws. Verifies the record against the factory address in this page, not against the
 * response's factory address.
 */
async function findPageRecord(source: Source, signal: AbortSignal): Promise<PageRecord> {
  if ("terms" in source) {
    try {
      return { kind: "record", record: makeRecord(decodeTerms(fromHex(source.terms as Hex))) };
    } catch (error) {
      return { kind: "wrong", faults: listFaults(error) };
    }
  }
  let address: Hex;
  try {
    // Accepts addresses in any letter case, because a user may have typed the link.
    address = parseAddress(source.address.toLowerCase());
  } catch {
    return { kind: "malformed" };
  }
  const found = await findRecord(["/v1"], address, signal);
  return found.kind === "wrong" ? { kind: "wrong", faults: listFaults(found.error) } : found;
}

const faultsShown = 5;

/** Omits the path of an unknown field, because the sender of the record chose the field's name. */
function listFaults(error: unknown): string[] {
  const issues = error instanceof InvalidError ? error.issues : [];
  return issues
    .slice(0, faultsShown)
    .map(({ path, code }) =>
      path.length > 0 && code !== "unknown_field" ? `${path.join(".")}: ${code}` : code,
    );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Speaking>
      <Boundary>
        <Page />
      </Boundary>
    </Speaking>
  </StrictMode>,
);
