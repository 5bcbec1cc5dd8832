// The texts of every page, which are the texts of the element and of the components in ui/.

import { elementWords, type LanguageTag, loadElementWords } from "executable-address-element/page";
import en from "./en.json" with { type: "json" };

export const uiWords = { ...elementWords, ...en };
export type UiKey = keyof typeof uiWords;

export type Words<Key extends string> = Readonly<Record<Key, string>>;
/** Loads the texts of a language. A language without one of the texts causes a type error. */
export type Catalogues<Key extends string> = Readonly<
  Record<LanguageTag, () => Promise<Words<Key>>>
>;

const catalogues: Catalogues<keyof typeof en> = {
  en: async () => en,
  es: () => import("./es.json").then((words) => words.default),
  fr: () => import("./fr.json").then((words) => words.default),
  de: () => import("./de.json").then((words) => words.default),
  ar: () => import("./ar.json").then((words) => words.default),
  zh: () => import("./zh.json").then((words) => words.default),
};

/**
 * Loads only the texts of the components in ui/.
 * @throws if the texts cannot be loaded
 */
export const loadPartWords = (tag: LanguageTag) => catalogues[tag]();

/**
 * Returns a function that loads a set of texts together with the texts of ui/.
 * @throws if the texts cannot be loaded
 */
export const makeLoader =
  <Key extends string>(room: Catalogues<Key>) =>
  async (tag: LanguageTag): Promise<Words<UiKey | Key>> => {
    const [shared, own, words] = await Promise.all([
      loadElementWords(tag),
      loadPartWords(tag),
      room[tag](),
    ]);
    return { ...shared, ...own, ...words } as Words<UiKey | Key>;
  };
