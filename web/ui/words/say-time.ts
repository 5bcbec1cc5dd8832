const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

/** "3 minutes ago", "in 2 hours"; from 30 days on the date. */
export function sayTime(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  if (Math.abs(seconds) < 45) return seconds > 0 ? "in a moment" : "just now";
  if (Math.abs(seconds) > 30 * 86_400) return day.format(at);
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size * 0.99) ?? ["minute", 60];
  return relative.format(Math.round(seconds / size), unit);
}
