// The texts of pages about an address, in six languages. English is bundled and is the fallback.
// Other languages are loaded on demand.

import en from "./words/en.json" with { type: "json" };

/** Texts by key. Every language has the same placeholders. */
export type ElementWords = Readonly<Record<keyof typeof en, string>>;
export const elementWords: ElementWords = en;

/**
 * `findLanguage` uses this list instead of the keys of `catalogues`. Otherwise, every page that
 * calls `findLanguage` would bundle the texts of all languages.
 */
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
 * Returns the language of a tag such as `de-AT`, or undefined. Chinese is available only in
 * simplified characters, so tags of traditional Chinese return English.
 */
export function findLanguage(tag: string): LanguageTag | undefined {
  const [language = "", ...rest] = tag.toLowerCase().split("-");
  const isTraditional = rest.some((part) => ["hant", "tw", "hk", "mo"].includes(part));
  if (language === "zh" && isTraditional) return "en";
  return tags.find((each) => each === language);
}

/** @throws if the texts cannot be loaded */
export async function loadElementWords(language: LanguageTag): Promise<ElementWords> {
  return language === "en" ? en : (await catalogues[language]()).default;
}

/**
 * Never throws. Returns the texts for the nearest `lang` attribute. If there is none, or if its
 * language is not available, returns the texts for the browser's languages.
 */
export function wordsFor(host: Element): Promise<ElementWords> {
  const wanted = [host.closest<HTMLElement>("[lang]")?.lang, ...navigator.languages];
  const language = wanted.map((tag) => findLanguage(tag ?? "")).find((found) => found);
  return loadElementWords(language ?? "en").catch(() => elementWords);
}

export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
