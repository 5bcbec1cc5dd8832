// The dashboard's texts. The dashboard is available only in English.

import { formatUnits } from "executable-address-element/page";
import type { SayIn } from "../../ui/words/languages.ts";
import { uiWords } from "../../ui/words/ui-words.ts";
import own from "./en.json" with { type: "json" };

export const en = { ...uiWords, ...own };
export type Key = keyof typeof en;
export type Say = SayIn<Key>;

/**
 * Returns the singular or plural form of a text for `n` things. The text has the form
 * `one: {n} call | other: {n} calls`.
 */
export function sayMany(say: Say, key: Key, n: number): string {
  const [one = "", other = ""] = say(key, { n: formatUnits(`${n}`, 0) }).split(" | ");
  const form = n === 1 ? one : other;
  return form.slice(form.indexOf(": ") + 2);
}
