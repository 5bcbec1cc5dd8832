// Transaction hashes and links to the operator's explorer.

import type { ReactNode } from "react";
import { Whole } from "./address-text.tsx";
import { explorerLink } from "./explorer.ts";
import { useSpeech } from "./words/say.tsx";

type TransactionProps = { hash: string; explorer: string | null | undefined };

/** Shows a full transaction hash. If the operator configured an explorer, the hash is a link. */
export function Transaction({ hash, explorer }: TransactionProps) {
  return (
    <Explored link={explorerLink(explorer, "tx", hash)}>
      <Whole text={hash} />
    </Explored>
  );
}

/** Opens in a new tab, without a referrer. */
export function Explored({ link, children }: { link: string | undefined; children: ReactNode }) {
  const { say } = useSpeech();
  if (!link) return children;
  return (
    <a className="link" href={link} target="_blank" rel="noreferrer">
      {children}
      <span className="sr-only"> ({say("newTab")})</span>
    </a>
  );
}
