// Says the receipt's words in the reader's language. All six come with it, since a receipt that is
// kept asks nobody.

import { type LanguageTag, recall, remember } from "executable-address-element/page";
import { sayMoment } from "../../shown/words/say-when.ts";
import {
  type Language,
  languages,
  pickLanguage,
  type SayIn,
  sayWith,
} from "../../ui/words/languages.ts";
import ar from "./words/ar.json" with { type: "json" };
import de from "./words/de.json" with { type: "json" };
import en from "./words/en.json" with { type: "json" };
import es from "./words/es.json" with { type: "json" };
import fr from "./words/fr.json" with { type: "json" };
import zh from "./words/zh.json" with { type: "json" };

export type Key = keyof typeof en;
type Child = Node | string;

const catalogues: Readonly<Record<LanguageTag, Readonly<Record<Key, string>>>> = {
  en,
  es,
  fr,
  de,
  ar,
  zh,
};

let language: Language;
/** A sentence as plain text. */
export let say: SayIn<Key>;
speak(
  pickLanguage(
    new URLSearchParams(location.search).get("lang") ?? recall("language"),
    navigator.languages,
  ),
);

function speak(chosen: Language): void {
  language = chosen;
  say = sayWith(catalogues[chosen.tag], chosen);
  Object.assign(document.documentElement, { lang: chosen.tag, dir: chosen.dir });
  document.title = say("title");
}

export const direction = () => language.dir;
export const sayTime = (seconds: number) => sayMoment(seconds, language);

/** An element of HTML, with text in it as it is. */
export function element(name: string, ...children: readonly Child[]): HTMLElement {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

/** A sentence in an element; each place keeps its own direction. */
export function said(name: string, key: Key, values: Readonly<Record<string, Child>> = {}) {
  const pieces = catalogues[language.tag][key].split(/\{(\w+)\}/);
  const children = pieces.map((piece, at) =>
    at % 2 === 0 ? piece : element("bdi", values[piece] ?? ""),
  );
  return element(name, ...children);
}

/** The languages by their own names; `again` draws what is shown once more. */
export function chooseLanguage(again: () => void): HTMLElement {
  const select = document.createElement("select");
  select.ariaLabel = say("language");
  select.append(
    ...languages.map(({ tag, name }) => new Option(name, tag, false, tag === language.tag)),
  );
  select.onchange = () => {
    remember("language", select.value);
    speak(pickLanguage(select.value, []));
    again();
  };
  return element("p", select);
}
