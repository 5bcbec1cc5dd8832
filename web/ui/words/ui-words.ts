// The words that every page has: the library's of an address, and those that the parts say.

import { elementWords, type LanguageTag, loadElementWords } from "executable-address-element/page";
import en from "./en.json" with { type: "json" };

export const uiWords = { ...elementWords, ...en };
export type UiKey = keyof typeof uiWords;

export type Words<Key extends string> = Readonly<Record<Key, string>>;
/** Fetches the words of a language; one whose catalogue lacks a sentence does not compile. */
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

/** Loads the words of the parts without the element's. @throws if they cannot be fetched */
export const loadPartWords = (tag: LanguageTag) => catalogues[tag]();

/** Gives a room's words with those of the parts. @throws where they cannot be fetched */
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
