// How components speak. What is put into a sentence keeps its own direction: amounts and addresses
// read from left to right in every language.

import { recall, remember } from "executable-address/page";
import {
  createContext,
  Fragment,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
} from "react";
import { type Language, languages, pickLanguage, sayWith } from "../../ui/words/languages.ts";
import { type UiWords, UiWordsContext } from "../../ui/words/ui-words.ts";
import { type Catalogue, en, type Key, loadWords, type Say } from "./languages.ts";

type Speech = {
  say: Say;
  language: Language;
  words: Catalogue;
  choose: (tag: string) => void;
};

const SpeechContext = createContext<Speech>({
  say: sayWith(en, languages[0]!),
  language: languages[0]!,
  words: en,
  choose: () => {},
});

export const useSpeech = () => useContext(SpeechContext);

/** A sentence whose places hold anything: `<Said as="payWith" wallet={<b>…</b>} />`. */
export function Said({ as, ...values }: { as: Key } & Record<string, ReactNode>) {
  const { words } = useSpeech();
  return words[as]
    .split(/\{(\w+)\}/)
    .map((piece, at) =>
      at % 2 === 0 ? (
        <Fragment key={at.toString()}>{piece}</Fragment>
      ) : (
        <bdi key={at.toString()}>{values[piece]}</bdi>
      ),
    );
}

/** Shows `children` once the payer's language is there. */
export function Speaking({ children }: { children: ReactNode }) {
  const [loaded, setLoaded] = useState<[Language, Catalogue]>();
  useEffect(() => {
    const asked = new URLSearchParams(window.location.search).get("lang");
    const wanted = pickLanguage(asked ?? recall("language"), navigator.languages);
    void loadWords(wanted).then(setLoaded);
  }, []);
  useEffect(() => {
    if (!loaded) return;
    document.documentElement.lang = loaded[0].tag;
    document.documentElement.dir = loaded[0].dir;
  }, [loaded]);

  const speech = useMemo((): Speech | undefined => {
    if (!loaded) return undefined;
    const [language, words] = loaded;
    const choose = (tag: string) => {
      remember("language", tag);
      void loadWords(pickLanguage(tag, [])).then(setLoaded);
    };
    return { say: sayWith(words, language), language, words, choose };
  }, [loaded]);
  if (!speech) return null;
  return (
    <SpeechContext value={speech}>
      <UiWordsContext value={uiWords(speech)}>{children}</UiWordsContext>
    </SpeechContext>
  );
}

const uiWords = ({ say }: Speech): UiWords => ({
  loading: say("loading"),
  copyWhat: (what) => say("copyWhat", { what }),
  whatCopied: (what) => say("whatCopied", { what }),
  copyRefused: say("copyRefused"),
  tryAgain: say("tryAgain"),
  colours: (now, next) => {
    const names = {
      device: say("coloursDevice"),
      light: say("coloursLight"),
      dark: say("coloursDark"),
    };
    return say("colours", { now: names[now], next: names[next] });
  },
});

/** The languages by their own names. */
export function LanguageSelect() {
  const { say, language, choose } = useSpeech();
  return (
    <select
      aria-label={say("language")}
      className="language"
      value={language.tag}
      onChange={(event) => choose(event.target.value)}
    >
      {languages.map(({ tag, name }) => (
        <option key={tag} value={tag} lang={tag}>
          {name}
        </option>
      ))}
    </select>
  );
}
