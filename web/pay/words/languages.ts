// Which language the public page speaks, and how to fetch it. English comes with the page; another
// is loaded before the first paint, and English is shown where it cannot be.

import { elementWords, languageOf, loadElementWords } from "executable-address/page";
import page from "./en.json" with { type: "json" };

export const en = { ...elementWords, ...page };
/** A sentence of the page, by name. Every language has the same, with the same places. */
export type Key = keyof typeof en;
export type Catalogue = Readonly<Record<Key, string>>;
type PageWords = Readonly<Record<keyof typeof page, string>>;

export type Language = { readonly tag: string; readonly name: string; readonly dir: "ltr" | "rtl" };

export const languages: readonly Language[] = [
  { tag: "en", name: "English", dir: "ltr" },
  { tag: "es", name: "Español", dir: "ltr" },
  { tag: "fr", name: "Français", dir: "ltr" },
  { tag: "de", name: "Deutsch", dir: "ltr" },
  { tag: "ar", name: "العربية", dir: "rtl" },
  { tag: "zh", name: "中文", dir: "ltr" },
];
const english = languages[0]!;

const catalogues: Record<string, () => Promise<PageWords>> = {
  es: () => import("./es.json").then((words) => words.default),
  fr: () => import("./fr.json").then((words) => words.default),
  de: () => import("./de.json").then((words) => words.default),
  ar: () => import("./ar.json").then((words) => words.default),
  zh: () => import("./zh.json").then((words) => words.default),
};

/** By what was chosen here before, else by what the browser asks for. */
export function pickLanguage(
  chosen: string | null | undefined,
  wanted: readonly string[],
): Language {
  const find = (tag: string | undefined) => languages.find((language) => language.tag === tag);
  const candidates = [chosen ?? "", ...wanted].map(languageOf);
  return candidates.map(find).find((language) => language !== undefined) ?? english;
}

/** Never throws. */
export async function loadWords(language: Language): Promise<[Language, Catalogue]> {
  const load = catalogues[language.tag];
  try {
    const [shared, page] = await Promise.all([loadElementWords(language.tag), load?.()]);
    return page ? [language, { ...shared, ...page }] : [english, en];
  } catch {
    return [english, en];
  }
}

type Values = Readonly<Record<string, string | number>>;
export type Say = (key: Key, values?: Values) => string;

/** What is put into a sentence keeps its own direction; U+2068 and U+2069 isolate it. */
export const sayWith =
  (words: Catalogue, { dir } = english): Say =>
  (key, values = {}) =>
    words[key].replace(/\{(\w+)\}/g, (_, name) =>
      dir === "rtl" ? `\u2068${values[name] ?? ""}\u2069` : `${values[name] ?? ""}`,
    );
