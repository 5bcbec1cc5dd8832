import type { MoneyDay, MoneyName, Pace } from "../api.ts";
import { sayCount } from "../money.ts";
import { saySpan } from "../parts/say-time.ts";
import { useSpeech } from "../words/speech.ts";
import type { Say } from "../words/words.ts";

type FunnelProps = { days: readonly MoneyDay[]; pace: Pace };

/** Shows how many addresses were created, paid, and executed, and the median times. */
export function Funnel({ days, pace }: FunnelProps) {
  const { say } = useSpeech();
  const countOf = (name: MoneyName) => days.reduce((sum, day) => sum + day[`${name}Count`], 0);
  const made = countOf("asked");
  const paid = countOf("paid");
  const executed = countOf("executed");
  const returned = countOf("returned");
  const most = Math.max(made, paid, executed, 1);
  return (
    <ol aria-label={say("funnel")} className="grid gap-4 sm:grid-cols-3">
      <Step name={say("stepCreated")} count={made} part={made / most} />
      <Step name={say("stepPaid")} count={paid} part={paid / most}>
        {[sayPart(paid, made), sayWait(pace.toPaidMs, say)].filter(Boolean).join(" ")}
      </Step>
      <Step name={say("stepExecuted")} count={executed} part={executed / most}>
        {[sayPart(executed, paid), sayWait(pace.toExecutedMs, say)].filter(Boolean).join(" ")}
        {returned > 0 && ` · ${say("gaveBack", { n: sayCount(returned) })}`}
      </Step>
    </ol>
  );
}

type StepProps = { name: string; count: number; part: number; children?: React.ReactNode };

function Step({ name, count, part, children }: StepProps) {
  return (
    <li className="min-w-0">
      <p className="flex items-baseline gap-2">
        <span className="text-lg font-semibold tabular-nums">{sayCount(count)}</span>
        <span className="text-sm text-soft">{name}</span>
      </p>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" className="h-2 w-full" aria-hidden="true">
        <rect className="chart-open" width="100" height="4" />
        <rect className="chart-good" width={part * 100} height="4" />
      </svg>
      <p className="mt-1 text-sm text-soft">{children}</p>
    </li>
  );
}

/** Returns an empty text if more addresses were paid on these days than were created. */
const sayPart = (count: number, of: number) =>
  of > 0 && count <= of ? `${Math.round((count / of) * 100)} %` : "";

const units = [
  { ms: 86_400_000, name: "day" },
  { ms: 3_600_000, name: "hour" },
  { ms: 60_000, name: "minute" },
  { ms: 1_000, name: "second" },
] as const;

function sayWait(ms: number | null, say: Say): string {
  if (ms === null) return "";
  const { ms: unitMs, name } = units.find((unit) => ms >= unit.ms * 2) ?? units[3];
  const time = saySpan(Math.max(1, Math.round(ms / unitMs)), name);
  return say("within", { time });
}
