// Explains where the money goes after each mistake of a payer. The page derives the rows of the
// API's returns from the verified record. The page trusts the server only for the answer whether an
// executor exists.

import {
  deriveReturns,
  type MoneyReturn,
  type PaymentReturns,
  policyIn,
  type ReturnPolicy,
} from "executable-address/status";
import { type LanguageTag, shortAddress } from "executable-address-element/page";
import { useEffect, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { useSpeech } from "../shown/words/say.tsx";
import { sayMoment } from "../shown/words/say-when.ts";
import { type SayIn, sayWith } from "../ui/words/languages.ts";
import type { Catalogues, Words } from "../ui/words/ui-words.ts";
import { Sent } from "./sent.tsx";
import en from "./words/en.json" with { type: "json" };

type Key = keyof typeof en;

const catalogues: Catalogues<Key> = {
  en: async () => en,
  es: () => import("./words/es.json").then((words) => words.default),
  fr: () => import("./words/fr.json").then((words) => words.default),
  de: () => import("./words/de.json").then((words) => words.default),
  ar: () => import("./words/ar.json").then((words) => words.default),
  zh: () => import("./words/zh.json").then((words) => words.default),
};

export function Returns() {
  const { record, coin, sayAmount } = useAbout();
  const { language } = useSpeech();
  const words = useWords(language.tag);
  const executor = useExecutor(record.address);
  if (!words || executor === undefined) return <div className="place" />;
  const say = sayWith(words, language);
  const found = deriveReturns(record, executor);
  const date = sayMoment(found.expirationTimestamp, language);
  const spent = found.spent === null ? undefined : sayAmount(found.spent);
  return (
    <>
      <p className="mt-3 text-soft">
        {say("intro", { address: shortAddress(record.intent.recovery) })}
      </p>
      <dl className="mt-3 space-y-3">
        {found.returns.map((row) => (
          <div key={row.mistake}>
            <dt className="font-medium">{say(row.mistake, { coin: coin.symbol })}</dt>
            <dd className="text-soft">{sayRow(row, found, { spent, date }, say)}</dd>
          </div>
        ))}
      </dl>
      {executor && (
        <p className="mt-3 text-soft">{say("small", { amount: sayAmount(executor.amountMin) })}</p>
      )}
      <p className="mt-3 text-soft">{say("contract")}</p>
      <Sent say={say} />
    </>
  );
}

/** Says how much comes back, where, when, and who triggers it. */
function sayRow(
  { returned, chainId, when, by }: MoneyReturn,
  { executor }: PaymentReturns,
  { spent, date }: { spent: string | undefined; date: string },
  say: SayIn<Key>,
): string {
  const excess = spent === undefined ? say("excessUnknown") : say("excess", { amount: spent });
  const blocks = when === "after_execution" ? (executor?.confirmations ?? 0) : 0;
  return [
    returned === "excess" ? excess : say("all"),
    ...(chainId === null ? [say("there")] : []),
    blocks > 0 ? say("after_blocks", { n: blocks }) : say(when, { date }),
    ...by.map((each) => say(each)),
  ].join(" · ");
}

/** Returns the texts in the language, or in English if that language cannot be loaded. */
function useWords(tag: LanguageTag): Words<Key> | undefined {
  const [words, setWords] = useState<Words<Key>>();
  useEffect(() => {
    let isWanted = true;
    catalogues[tag]()
      .catch(() => en)
      .then((found) => isWanted && setWords(found));
    return () => {
      isWanted = false;
    };
  }, [tag]);
  return words;
}

/**
 * Returns undefined until the server responds, and null if the server has no executor or does not
 * respond.
 */
function useExecutor(address: string): ReturnPolicy | null | undefined {
  const [executor, setExecutor] = useState<ReturnPolicy | null>();
  useEffect(() => {
    const stopping = new AbortController();
    fetch(`/v1/address/${address}/returns`, { signal: stopping.signal })
      .then((response) => response.json())
      .then(policyIn)
      .catch(() => null)
      .then((found) => !stopping.signal.aborted && setExecutor(found));
    return () => stopping.abort();
  }, [address]);
  return executor;
}
