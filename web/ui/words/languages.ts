// The languages of a payer's pages: which one a reader gets, and how a sentence is filled.

import { findLanguage, type LanguageTag } from "executable-address-element/page";

type Shown = { readonly name: string; readonly dir: "ltr" | "rtl" };
export type Language = Shown & { readonly tag: LanguageTag };

/** The library lists the tags: one that is missing here does not compile. */
const shown: Readonly<Record<LanguageTag, Shown>> = {
  en: { name: "English", dir: "ltr" },
  es: { name: "Español", dir: "ltr" },
  fr: { name: "Français", dir: "ltr" },
  de: { name: "Deutsch", dir: "ltr" },
  ar: { name: "العربية", dir: "rtl" },
  zh: { name: "中文", dir: "ltr" },
};
const named = (tag: LanguageTag): Language => ({ tag, ...shown[tag] });

export const english = named("en");
export const languages = (Object.keys(shown) as LanguageTag[]).map(named);

/** Goes by what was chosen here before, else by what the browser asks for. */
export function pickLanguage(
  chosen: string | null | undefined,
  wanted: readonly string[],
): Language {
  const candidates = [chosen ?? "", ...wanted].map(findLanguage);
  return named(candidates.find((tag) => tag !== undefined) ?? "en");
}

type Values = Readonly<Record<string, string | number>>;
/** Says the sentence of that name, with its places filled. */
export type SayIn<Key extends string> = (key: Key, values?: Values) => string;

/** A value put into a sentence keeps its own direction; U+2068 and U+2069 isolate it. */
export const sayWith =
  <Key extends string>(words: Readonly<Record<Key, string>>, { dir } = english): SayIn<Key> =>
  (key, values = {}) =>
    words[key].replace(/\{(\w+)\}/g, (_, name) =>
      dir === "rtl" ? `\u2068${values[name] ?? ""}\u2069` : `${values[name] ?? ""}`,
    );
