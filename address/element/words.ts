// The words of pages about an address, in six languages. English comes with the code; another is
// loaded when it is wanted, and English is used if it cannot be.

import en from "./words/en.json" with { type: "json" };

/** Sentences by name, with the same places in every language. */
export type ElementWords = Readonly<Record<keyof typeof en, string>>;
export const elementWords: ElementWords = en;

/** Named apart from the catalogues, so that a page with its own words bundles none of these. */
const languages = ["en", "es", "fr", "de", "ar", "zh"];

type Loaded = Promise<{ default: ElementWords }>;
const catalogues: Readonly<Record<string, () => Loaded>> = {
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
export function languageOf(tag: string): string | undefined {
  const [language = "", ...rest] = tag.toLowerCase().split("-");
  const isTraditional = rest.some((part) => ["hant", "tw", "hk", "mo"].includes(part));
  if (language === "zh" && isTraditional) return "en";
  return languages.includes(language) ? language : undefined;
}

/** @throws where they cannot be fetched */
export async function loadElementWords(language: string): Promise<ElementWords> {
  return (await catalogues[language]?.())?.default ?? en;
}

/** Never throws: the words of the nearest `lang`, the host's own first, else of the browser. */
export function wordsFor(host: Element): Promise<ElementWords> {
  const tags = [host.closest<HTMLElement>("[lang]")?.lang, ...navigator.languages];
  const language = tags.map((tag) => tag && languageOf(tag)).find((found) => found);
  return loadElementWords(language || "en").catch(() => elementWords);
}

export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
