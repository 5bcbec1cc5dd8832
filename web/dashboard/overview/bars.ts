// Converts the server's hourly and daily counts to the columns of a chart.

import { dateFormat } from "../../shown/words/say-when.ts";
import { english } from "../../ui/words/languages.ts";
import type { MoneyDay, UsageHour } from "../api.ts";
import type { Bar } from "../parts/chart.tsx";
import type { Say } from "../words/words.ts";

export const sum = (hours: readonly UsageHour[]) => ({
  created: hours.reduce(
    (count, { apiKey, clientId }) => count + apiKey.created + clientId.created,
    0,
  ),
  refused: hours.reduce(
    (count, { apiKey, clientId }) => count + apiKey.refused + clientId.refused,
    0,
  ),
});

const hourMs = 3_600_000;

/** The server omits hours without requests. The chart shows all hours. */
export function makeBars(
  hours: readonly UsageHour[],
  span: { hours: number; hoursPerBar: number },
  say: Say,
  now = Date.now(),
): Bar[] {
  const name = dateFormat(english, {
    month: "short",
    day: "numeric",
    hour: "numeric",
    timeZoneName: "short",
  });
  const barMs = span.hoursPerBar * hourMs;
  const end = (Math.floor(now / hourMs) + 1) * hourMs;
  const count = span.hours / span.hoursPerBar;
  return Array.from({ length: count }, (_, index) => {
    const from = end - (count - index) * barMs;
    const within = hours.filter(({ hour }) => {
      const at = Date.parse(hour);
      return at >= from && at < from + barMs;
    });
    const { created, refused } = sum(within);
    const says = say("usageSays", { created, refused });
    return { label: name.format(from), says, parts: [created, refused] };
  });
}

/**
 * The CSS class of each part of a column, from bottom to top:
 * - the executed amount
 * - the returned amount
 * - the rest of the paid amount
 * - the requested amount that is not paid yet
 */
export const moneyFills = ["chart-good", "chart-back", "chart-waits", "chart-open"] as const;

/**
 * Returns one column for each of the last `count` days, including days without payments.
 * @param decimals the token's decimals
 */
export function makeDayBars(
  days: readonly MoneyDay[],
  { count, decimals, says }: { count: number; decimals: number; says: (day: MoneyDay) => string },
  say: Say,
  now = Date.now(),
): Bar[] {
  const name = dateFormat(english, { month: "short", day: "numeric", timeZone: "UTC" });
  const unitsOf = (amount: string) => Math.max(0, Number(amount) / 10 ** decimals);
  const byDay = new Map(days.map((day) => [day.day, day]));
  return Array.from({ length: count }, (_, index): Bar => {
    const at = now - (count - 1 - index) * 24 * hourMs;
    const day = byDay.get(new Date(at).toISOString().slice(0, 10));
    const label = name.format(at);
    if (!day) return { label, says: say("nothing"), parts: [0, 0, 0, 0] };
    const executed = unitsOf(day.executed);
    const returned = unitsOf(day.returned);
    const waits = Math.max(0, unitsOf(day.paid) - executed - returned);
    const open = Math.max(0, unitsOf(day.requested) - executed - returned - waits);
    return { label, says: says(day), parts: [executed, returned, waits, open] };
  });
}
