// The languages of a payer's pages: which one a reader gets, and how a sentence is filled.

import { languageOf } from "executable-address/page";

export type Language = { readonly tag: string; readonly name: string; readonly dir: "ltr" | "rtl" };

export const english: Language = { tag: "en", name: "English", dir: "ltr" };

export const languages: readonly Language[] = [
  english,
  { tag: "es", name: "Español", dir: "ltr" },
  { tag: "fr", name: "Français", dir: "ltr" },
  { tag: "de", name: "Deutsch", dir: "ltr" },
  { tag: "ar", name: "العربية", dir: "rtl" },
  { tag: "zh", name: "中文", dir: "ltr" },
];

/** By what was chosen here before, else by what the browser asks for. */
export function pickLanguage(
  chosen: string | null | undefined,
  wanted: readonly string[],
): Language {
  const find = (tag: string | undefined) => languages.find((language) => language.tag === tag);
  const candidates = [chosen ?? "", ...wanted].map(languageOf);
  return candidates.map(find).find((language) => language !== undefined) ?? english;
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
