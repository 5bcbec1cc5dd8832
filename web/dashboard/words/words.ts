// The words of the dashboard. English comes with it; another language's are loaded when wanted.

import type { SayIn } from "../../ui/words/languages.ts";
import { type Catalogues, loaderOf, uiWords } from "../../ui/words/ui-words.ts";
import own from "./en.json" with { type: "json" };

export const en = { ...uiWords, ...own };
/** A sentence of the dashboard, by name. Every language has the same, with the same places. */
export type Key = keyof typeof en;
export type Say = SayIn<Key>;

const catalogues: Catalogues<keyof typeof own> = {
  en: async () => own,
  es: () => import("./es.json").then((words) => words.default),
  fr: () => import("./fr.json").then((words) => words.default),
  de: () => import("./de.json").then((words) => words.default),
  ar: () => import("./ar.json").then((words) => words.default),
  zh: () => import("./zh.json").then((words) => words.default),
};

export const loadWords = loaderOf(catalogues);
