// Creates the functions with which components show texts. Each value in a text has its own text
// direction. Amounts and addresses read from left to right in every language.

import { type LanguageTag, recall, remember } from "executable-address-element/page";
import {
  type Context,
  createContext,
  Fragment,
  type ReactNode,
  useContext,
  useEffect,
  useLayoutEffect,
  useState,
} from "react";
import { openOutside } from "../outside.ts";
import {
  english,
  type Language,
  languages,
  pickLanguage,
  type SayIn,
  sayWith,
} from "./languages.ts";
import { type UiKey, uiWords, type Words } from "./ui-words.ts";

export type Speech<Key extends string> = {
  readonly say: SayIn<Key>;
  readonly language: Language;
  readonly words: Words<Key>;
};

const makeWords = <Key extends string>(language: Language, words: Words<Key>): Speech<Key> => ({
  say: sayWith(words, language),
  language,
  words,
});

const chosen = openOutside<string | undefined>(undefined);
const languageOfUrl = () => new URLSearchParams(window.location.search).get("lang");

const UiContext = createContext<Speech<UiKey>>(makeWords(english, uiWords));

/** Returns the texts of ui/ in the language of the page. */
export const useUiSpeech = () => useContext(UiContext);

/**
 * Creates the hooks for a set of texts. The language is English unless a component from
 * {@link makeSpeaking} provides another language.
 * @param en the English texts of the set, together with the English texts of ui/
 */
export function makeSpeech<Key extends string>(en: Words<Key> & Words<UiKey>) {
  const Context = createContext(makeWords<Key>(english, en));
  const useSpeech = () => useContext(Context);

  /**
   * A text whose placeholders can be replaced with any node:
   * `<Said as="payWith" wallet={<b>…</b>} />`.
   */
  function Said({ as, ...values }: { as: Key } & Record<string, ReactNode>) {
    return useSpeech()
      .words[as].split(/\{(\w+)\}/)
      .map((piece, at) =>
        at % 2 === 0 ? (
          <Fragment key={at.toString()}>{piece}</Fragment>
        ) : (
          <bdi key={at.toString()}>{values[piece]}</bdi>
        ),
      );
  }

  return { Context, useSpeech, Said };
}

/**
 * Creates a component that waits until the user's language is loaded and then shows its children.
 * If the language cannot be loaded, uses English.
 * @param load requests the texts of a language
 */
export function makeSpeaking<Key extends string>(
  Context: Context<Speech<Key>>,
  en: Words<Key> & Words<UiKey>,
  load: (tag: LanguageTag) => Promise<Words<Key> & Words<UiKey>>,
) {
  return function Speaking({ children }: { children: ReactNode }) {
    const wanted = chosen.useValue() ?? languageOfUrl() ?? recall("language");
    const { tag } = pickLanguage(wanted, navigator.languages);
    const [speech, setSpeech] = useState<{ own: Speech<Key>; ui: Speech<UiKey> }>();
    useEffect(() => {
      let isWanted = true;
      const show = (language: Language, words: typeof en) => {
        const both = {
          own: makeWords<Key>(language, words),
          ui: makeWords<UiKey>(language, words),
        };
        if (isWanted) setSpeech(both);
      };
      load(tag).then(
        (words) => show(pickLanguage(tag, []), words),
        () => show(english, en),
      );
      return () => {
        isWanted = false;
      };
    }, [tag]);
    // This must be a layout effect. An ordinary effect could run after the first paint.
    // Right-to-left text would then appear in a left-to-right layout for one frame.
    useLayoutEffect(() => {
      if (!speech) return;
      document.documentElement.lang = speech.ui.language.tag;
      document.documentElement.dir = speech.ui.language.dir;
    }, [speech]);
    if (!speech) return null;
    return (
      <Context value={speech.own}>
        <UiContext value={speech.ui}>{children}</UiContext>
      </Context>
    );
  };
}

/** Lists each language by its own name, and stores the user's choice. */
export function LanguageSelect() {
  const { say, language } = useUiSpeech();
  const choose = (tag: string) => {
    remember("language", tag);
    chosen.set(tag);
  };
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
