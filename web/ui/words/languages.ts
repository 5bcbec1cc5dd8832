// Selects the language of a payer's page and inserts values into its texts.

import { findLanguage, type LanguageTag } from "executable-address-element/page";

type Shown = { readonly name: string; readonly dir: "ltr" | "rtl" };
export type Language = Shown & { readonly tag: LanguageTag };

/** The element package defines the language tags. A missing tag causes a type error. */
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

/**
 * Returns the language that the user has chosen. If there is none, returns the first of the
 * browser's languages that is available, otherwise English.
 */
export function pickLanguage(
  chosen: string | null | undefined,
  wanted: readonly string[],
): Language {
  const candidates = [chosen ?? "", ...wanted].map(findLanguage);
  return named(candidates.find((tag) => tag !== undefined) ?? "en");
}

type Values = Readonly<Record<string, string | number>>;
/** Returns the text of a key, with values instead of placeholders. */
export type SayIn<Key extends string> = (key: Key, values?: Values) => string;

/**
 * Inserts values into a text. In right-to-left languages, U+2068 and U+2069 isolate the values, so
 * that each value has its own text direction.
 */
export const sayWith =
  <Key extends string>(words: Readonly<Record<Key, string>>, { dir } = english): SayIn<Key> =>
  (key, values = {}) =>
    words[key].replace(/\{(\w+)\}/g, (_, name) =>
      dir === "rtl" ? `\u2068${values[name] ?? ""}\u2069` : `${values[name] ?? ""}`,
    );
