import { formatUnits } from "executable-address-element/page";
import type { Language } from "../../ui/words/languages.ts";
import type { Key, Say } from "./words.ts";

/**
 * Says the form of a sentence for `n` things. A catalogue lists the forms of its language by the
 * names of `Intl.PluralRules`: `one: {n} call | other: {n} calls`.
 */
export function sayMany(
  { say, language }: { readonly say: Say; readonly language: Language },
  key: Key,
  n: number,
  values: Readonly<Record<string, string>> = {},
): string {
  const forms = say(key, { ...values, n: formatUnits(`${n}`, 0) }).split(" | ");
  const wanted = `${new Intl.PluralRules(language.tag).select(n)}: `;
  const form = forms.find((each) => each.startsWith(wanted)) ?? forms.at(-1)!;
  return form.slice(form.indexOf(": ") + 2);
}
