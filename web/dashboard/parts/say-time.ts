// Formats durations and times as text.

import { dateFormat, localeOf } from "../../shown/words/say-when.ts";
import { english } from "../../ui/words/languages.ts";
import type { Say } from "../words/words.ts";

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Returns "24 hours" or, in short form, "24 hr". */
export const saySpan = (
  count: number,
  unit: "day" | "hour" | "minute" | "second",
  unitDisplay: "long" | "short" = "short",
): string =>
  new Intl.NumberFormat(localeOf(english), { style: "unit", unit, unitDisplay }).format(count);

/**
 * Returns text such as "3 minutes ago" or "in 2 hours". Returns the date if the time is more than
 * 30 days away.
 */
export function sayTime(at: Date, now: Date, say: Say): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  if (Math.abs(seconds) < 45) return say(seconds > 0 ? "inAMoment" : "justNow");
  if (Math.abs(seconds) > 30 * 86_400)
    return dateFormat(english, { dateStyle: "medium" }).format(at);
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size * 0.99) ?? ["minute", 60];
  const relative = new Intl.RelativeTimeFormat(localeOf(english), { numeric: "auto" });
  return relative.format(Math.round(seconds / size), unit);
}
