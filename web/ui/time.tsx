import { sayTime } from "./words/say-time.ts";

const full = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** When something was or will be: near moments in words, the exact time on hover. */
export function Time({ at, none = "Never" }: { at: string | number | null; none?: string }) {
  if (at === null) return <span className="text-soft">{none}</span>;
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={full.format(date)}>
      {sayTime(date, new Date())}
    </time>
  );
}
