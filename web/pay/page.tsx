// /a/{address} and #terms=0x…: what paying an address does, for whoever is about to pay it.

import { type ReactNode, useEffect, useState } from "react";
import { Notice } from "../ui/notice.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { ThemeButton } from "../ui/theme.tsx";
import { type Chain, findChains } from "./chains.ts";
import { Payment } from "./payment-card.tsx";
import { type Found, findRecord, sourceOf } from "./record.ts";

export function Page() {
  const [found, setFound] = useState<Found>();
  const [chains, setChains] = useState<Chain[]>();
  const [attempt, setAttempt] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: an attempt is a reason to read again
  useEffect(() => {
    const stopping = new AbortController();
    const read = () => {
      void findRecord(sourceOf(window.location), stopping.signal).then((found) => {
        if (!stopping.signal.aborted) setFound(found);
      });
      void findChains(stopping.signal).then(setChains);
    };
    read();
    window.addEventListener("hashchange", read);
    return () => {
      stopping.abort();
      window.removeEventListener("hashchange", read);
    };
  }, [attempt]);

  return (
    <div className="mx-auto max-w-2xl px-4 py-5 sm:px-6">
      <header className="mb-6 flex items-center justify-between">
        <span className="flex items-center gap-2.5 font-semibold">
          <img src="/mark.svg" alt="" width="26" height="26" />
          Executable address
        </span>
        <ThemeButton />
      </header>
      <main>
        <Answer found={found} chains={chains} onRetry={() => setAttempt(attempt + 1)} />
      </main>
    </div>
  );
}

type AnswerProps = {
  found: Found | undefined;
  chains: Chain[] | undefined;
  onRetry: () => void;
};

function Answer({ found, chains, onRetry }: AnswerProps) {
  if (!found || !chains) {
    return (
      <div className="card">
        <h1 className="sr-only">Checking the address</h1>
        <Loading lines={6} />
      </div>
    );
  }
  switch (found.kind) {
    case "record":
      return <Payment record={found.record} chains={chains} />;
    case "wrong":
      return (
        <Stop title="Do not pay this address">
          <p>
            What was answered for it does not belong to it: worked out again in your browser, the
            words lead to another address or are no valid intent. Nothing of it is shown.
          </p>
          <ul className="mt-3 font-mono text-sm">
            {found.faults.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        </Stop>
      );
    case "missing":
      return (
        <Plain title="Nothing is known about this address">
          <p>
            It may be an ordinary account, or its terms may be held elsewhere. Paying it runs
            nothing that this page could tell you. If you have its terms, open this page with
            <code> #terms=0x…</code> at the end of the link.
          </p>
        </Plain>
      );
    case "malformed":
      return (
        <Plain title="This link holds no address">
          <p>An address is 0x and 40 hex characters. Check that the link is complete.</p>
        </Plain>
      );
    case "unreachable":
      return (
        <>
          <h1 className="mb-4">The address could not be looked up</h1>
          <Failed
            message="The server did not answer. Do not pay before you have seen what paying does."
            onRetry={onRetry}
          />
        </>
      );
  }
}

function Stop({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div role="alert" className="rounded-2xl border-4 border-danger bg-danger-wash p-6">
      <h1 className="mb-2 text-danger">{title}</h1>
      {children}
    </div>
  );
}

function Plain({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <h1 className="mb-4">{title}</h1>
      <Notice>{children}</Notice>
    </>
  );
}
