// Moments and spans in the payer's language, with the digits that amounts have.

import type { Language } from "../../ui/words/languages.ts";
import type { Say } from "./languages.ts";

/** "2 h 14 min", "3 d 4 h", "40 s": the two largest units. @param seconds not negative */
export function saySpan(seconds: number, say: Say): string {
  const parts: [number, "days" | "hours" | "minutes" | "seconds"][] = [
    [Math.floor(seconds / 86_400), "days"],
    [Math.floor(seconds / 3_600) % 24, "hours"],
    [Math.floor(seconds / 60) % 60, "minutes"],
    [seconds % 60, "seconds"],
  ];
  const from = parts.findIndex(([n]) => n > 0);
  if (from < 0) return say("seconds", { n: 0 });
  const isShort = seconds < 600;
  return parts
    .slice(from, from + 2)
    .filter(([n, unit]) => n > 0 && (isShort || unit !== "seconds"))
    .map(([n, unit]) => say(unit, { n }))
    .join(" ");
}

const formatter = ({ tag }: Language, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(`${tag}-u-nu-latn`, options);

/** Day and time. @param seconds Unix */
export const sayMoment = (seconds: number, language: Language): string =>
  formatter(language, { dateStyle: "medium", timeStyle: "short" }).format(seconds * 1000);

/** With seconds and time zone, for a receipt. */
export const sayMomentInFull = (seconds: number, language: Language): string =>
  formatter(language, { dateStyle: "long", timeStyle: "long" }).format(seconds * 1000);

export const sayClock = (ms: number, language: Language): string =>
  formatter(language, { timeStyle: "medium" }).format(ms);
