// From the hours the server counted to the columns of the chart.

import type { Bar } from "../ui/chart.tsx";
import type { UsageHour } from "./api.ts";

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

const barName = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  hour: "numeric",
});
const hourMs = 3_600_000;

/** The server tells only of hours in which something happened; the chart shows all of them. */
export function barsOf(
  hours: readonly UsageHour[],
  span: { hours: number; hoursPerBar: number },
  now = Date.now(),
): Bar[] {
  const barMs = span.hoursPerBar * hourMs;
  const end = (Math.floor(now / hourMs) + 1) * hourMs;
  const count = span.hours / span.hoursPerBar;
  return Array.from({ length: count }, (_, index) => {
    const from = end - (count - index) * barMs;
    const within = hours.filter(({ hour }) => {
      const at = Date.parse(hour);
      return at >= from && at < from + barMs;
    });
    return { label: barName.format(from), ...sum(within) };
  });
}
