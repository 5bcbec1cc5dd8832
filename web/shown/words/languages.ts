// The words of the public page, and how to fetch them. English comes with the page; the words of
// another language are loaded before the first paint, and English is shown where they cannot be.

import { elementWords, type LanguageTag, loadElementWords } from "executable-address/page";
import { english, type Language, type SayIn } from "../../ui/words/languages.ts";
import page from "./en.json" with { type: "json" };

export const en = { ...elementWords, ...page };
/** A sentence of the page, by name. Every language has the same, with the same places. */
export type Key = keyof typeof en;
export type Catalogue = Readonly<Record<Key, string>>;
type PageWords = Readonly<Record<keyof typeof page, string>>;

const catalogues: Readonly<Record<LanguageTag, () => Promise<PageWords>>> = {
  en: async () => page,
  es: () => import("./es.json").then((words) => words.default),
  fr: () => import("./fr.json").then((words) => words.default),
  de: () => import("./de.json").then((words) => words.default),
  ar: () => import("./ar.json").then((words) => words.default),
  zh: () => import("./zh.json").then((words) => words.default),
};

/** Never throws. */
export async function loadWords(language: Language): Promise<[Language, Catalogue]> {
  const { tag } = language;
  try {
    const [shared, page] = await Promise.all([loadElementWords(tag), catalogues[tag]()]);
    return [language, { ...shared, ...page }];
  } catch {
    return [english, en];
  }
}

export type Say = SayIn<Key>;
