// Explains where the money goes after each mistake that a payer can make. The page computes these
// explanations from the verified record and the server's policy for automatic returns. Payers can
// also search for money that they sent by mistake. The search needs the token's address or the
// transaction's hash. The results of this search come from the server. A token can have any name.
// The page therefore shows an unknown token's symbol in quotes, next to the token's address.

import { type Hex, isAddress, isHash } from "executable-address";
import type { SentMoney, SentToken } from "executable-address/client";
import { fits, sentMoney } from "executable-address/shapes";
import {
  deriveReturns,
  type MoneyReturn,
  type PaymentReturns,
  policyIn,
  type ReturnPolicy,
} from "executable-address/status";
import {
  formatUnits,
  inertText,
  isSame,
  type LanguageTag,
  shortAddress,
} from "executable-address-element/page";
import { type SubmitEvent, useEffect, useState } from "react";
import { useAbout } from "../shown/about.tsx";
import { WholeAddress } from "../shown/address-text.tsx";
import { findToken } from "../shown/reading.ts";
import { nativeCoin } from "../shown/simulation.ts";
import { useSpeech } from "../shown/words/say.tsx";
import { sayMoment } from "../shown/words/say-when.ts";
import { Button } from "../ui/button.tsx";
import { type SayIn, sayWith } from "../ui/words/languages.ts";
import type { Catalogues, Words } from "../ui/words/ui-words.ts";
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

/** Describes a return: how much, where, when, and who triggers it. */
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

/**
 * Returns the texts in the language `tag`. If the texts cannot be loaded, returns English texts.
 */
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
 * Returns undefined until the server has responded. Returns null if the server has no executor or
 * does not respond.
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

type Trouble = Extract<Key, "sentInvalid" | "sentFailed" | "sentLimited">;
type Answer = { is: "asking" } | { is: Trouble } | { is: "found"; found: SentMoney };

const inputId = "sent-input";
const resultId = "sent-result";

function Sent({ say }: { say: SayIn<Key> }) {
  const { record, chainName } = useAbout();
  const [text, setText] = useState("");
  const [answer, setAnswer] = useState<Answer>();
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const query = parseQuery(text);
    if (!query) return setAnswer({ is: "sentInvalid" });
    setAnswer({ is: "asking" });
    void report(record.address, query).then(setAnswer);
  };
  const isInvalid = answer?.is === "sentInvalid";
  return (
    <details className="mt-4">
      <summary className="link">{say("sentTitle")}</summary>
      <form className="mt-3 space-y-3" noValidate onSubmit={submit}>
        <label className="block" htmlFor={inputId}>
          {say("sentLabel", { chain: chainName })}
        </label>
        <input
          id={inputId}
          className="input"
          dir="ltr"
          autoComplete="off"
          spellCheck={false}
          placeholder="0x…"
          aria-invalid={isInvalid}
          aria-describedby={resultId}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" small busy={answer?.is === "asking"}>
          {say("sentButton")}
        </Button>
      </form>
      <div id={resultId} className="mt-3 space-y-3" aria-live="polite">
        {answer && answer.is !== "asking" && answer.is !== "found" && <p>{say(answer.is)}</p>}
        {answer?.is === "found" && <Found found={answer.found} say={say} />}
      </div>
    </details>
  );
}

type FoundProps = { found: SentMoney; say: SayIn<Key> };

function Found({ found: { problem, tokens, omitted }, say }: FoundProps) {
  const { coin, chainName } = useAbout();
  return (
    <>
      {problem && <p>{say(problem, { chain: chainName, coin: coin.symbol })}</p>}
      {tokens.map((token) => (
        <Token key={token.token} found={token} say={say} />
      ))}
      {omitted > 0 && <p className="text-soft">{say("sentOmitted", { n: omitted })}</p>}
    </>
  );
}

function Token({ found, say }: { found: SentToken; say: SayIn<Key> }) {
  const { intent, chains, coin, sayHeld } = useAbout();
  const { say: sayShown, language } = useSpeech();
  const { token, amount, symbol, decimals, fate, notBefore } = found;
  const isKnown = isSame(token, nativeCoin) || findToken(intent, chains, token) !== undefined;
  const isReturned = fate === "queued" || fate === "automatic";
  const values = {
    address: shortAddress(intent.recovery),
    date: notBefore === null ? "" : sayMoment(notBefore, language),
    coin: coin.symbol,
  };
  const claimed =
    decimals === null || decimals > 36
      ? sayShown("baseUnits", { amount: formatUnits(amount, 0) })
      : formatUnits(amount, decimals);
  return (
    <div>
      {amount !== "0" && (
        <p className="font-medium wrap-anywhere">
          <bdi>{isKnown ? sayHeld({ token, amount }) : sayClaim(claimed, symbol)}</bdi>
        </p>
      )}
      <p>
        {isReturned
          ? say(notBefore === null ? "returnedNow" : "returnedLater", values)
          : say(fate as Exclude<SentToken["fate"], "queued" | "automatic">, values)}
      </p>
      {!isKnown && (
        <p className="text-soft">
          {say("sentContract")} <WholeAddress address={token} />
        </p>
      )}
    </div>
  );
}

const sayClaim = (amount: string, symbol: string | null) =>
  symbol === null ? amount : `${amount} “${inertText(symbol)}”`;

type Query = { token: Hex } | { transactionHash: Hex };

function parseQuery(text: string): Query | undefined {
  const found = text.trim();
  if (isAddress(found)) return { token: found };
  return isHash(found) ? { transactionHash: found } : undefined;
}

async function report(address: string, query: Query): Promise<Answer> {
  try {
    const response = await fetch(`/v1/address/${address}/sent`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(query),
    });
    if (response.status === 429) return { is: "sentLimited" };
    if (response.status === 400) return { is: "sentInvalid" };
    const found: unknown = await response.json();
    const isAnswer = response.ok && fits(sentMoney, found) && isSame(found.address, address);
    return isAnswer ? { is: "found", found } : { is: "sentFailed" };
  } catch {
    return { is: "sentFailed" };
  }
}
