// Formats times and durations in the payer's language, with the same numerals as amounts.

import type { Language } from "../../ui/words/languages.ts";
import type { Say } from "./languages.ts";

/**
 * Returns the two largest units: "2 h 14 min", "3 d 4 h", "40 s".
 * @param seconds not negative
 */
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

export const localeOf = ({ tag }: Language) => `${tag}-u-nu-latn`;

export const dateFormat = (language: Language, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(localeOf(language), options);

/**
 * Returns the local date and time, with the time zone.
 * @param seconds Unix time
 */
export const sayMoment = (seconds: number, language: Language): string =>
  dateFormat(language, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  }).format(seconds * 1000);

/**
 * Returns text such as "in 3 hours" or "2 minutes ago". Rounds down, so that the time left is never
 * overstated.
 */
export function sayAway(seconds: number, language: Language): string {
  const units = [
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
  ] as const;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  const numeric = seconds === 0 ? "auto" : "always";
  const format = new Intl.RelativeTimeFormat(localeOf(language), { numeric });
  return format.format(Math.trunc(seconds / size), unit);
}

export const sayClock = (ms: number, language: Language): string =>
  dateFormat(language, { timeStyle: "medium" }).format(ms);
