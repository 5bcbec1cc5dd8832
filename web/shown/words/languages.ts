// The texts of pages that show one address. English is bundled. Other languages are loaded before
// the first paint.

import type { SayIn } from "../../ui/words/languages.ts";
import { type Catalogues, makeLoader, uiWords } from "../../ui/words/ui-words.ts";
import page from "./en.json" with { type: "json" };

export const en = { ...uiWords, ...page };
/** The key of a text. Every language has the same keys and placeholders. */
export type Key = keyof typeof en;
export type Catalogue = Readonly<Record<Key, string>>;

const catalogues: Catalogues<keyof typeof page> = {
  en: async () => page,
  es: () => import("./es.json").then((words) => words.default),
  fr: () => import("./fr.json").then((words) => words.default),
  de: () => import("./de.json").then((words) => words.default),
  ar: () => import("./ar.json").then((words) => words.default),
  zh: () => import("./zh.json").then((words) => words.default),
};

export const loadWords = makeLoader(catalogues);

export type Say = SayIn<Key>;
