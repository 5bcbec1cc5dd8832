// The words of pages about an address, in six languages. English comes with the code; another is
// loaded when it is wanted, and English is used if it cannot be.

import en from "./words/en.json" with { type: "json" };

/** Sentences by name, with the same places in every language. */
export type ElementWords = Readonly<Record<keyof typeof en, string>>;
export const elementWords: ElementWords = en;

/** Listed apart from the catalogues, so that a page with its own words bundles none of these. */
const tags = ["en", "es", "fr", "de", "ar", "zh"] as const;
export type LanguageTag = (typeof tags)[number];

type Loaded = Promise<{ default: ElementWords }>;
const catalogues: Readonly<Record<Exclude<LanguageTag, "en">, () => Loaded>> = {
  es: () => import("./words/es.json", { with: { type: "json" } }),
  fr: () => import("./words/fr.json", { with: { type: "json" } }),
  de: () => import("./words/de.json", { with: { type: "json" } }),
  ar: () => import("./words/ar.json", { with: { type: "json" } }),
  zh: () => import("./words/zh.json", { with: { type: "json" } }),
};

/**
 * The language that a tag such as `de-AT` means, or undefined. Chinese is written in simplified
 * characters here, so a reader of the traditional ones gets English.
 */
export function findLanguage(tag: string): LanguageTag | undefined {
  const [language = "", ...rest] = tag.toLowerCase().split("-");
  const isTraditional = rest.some((part) => ["hant", "tw", "hk", "mo"].includes(part));
  if (language === "zh" && isTraditional) return "en";
  return tags.find((each) => each === language);
}

/** @throws where they cannot be fetched */
export async function loadElementWords(language: LanguageTag): Promise<ElementWords> {
  return language === "en" ? en : (await catalogues[language]()).default;
}

/** Never throws: the words of the nearest `lang`, the host's own first, else of the browser. */
export function wordsFor(host: Element): Promise<ElementWords> {
  const wanted = [host.closest<HTMLElement>("[lang]")?.lang, ...navigator.languages];
  const language = wanted.map((tag) => findLanguage(tag ?? "")).find((found) => found);
  return loadElementWords(language ?? "en").catch(() => elementWords);
}

export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
