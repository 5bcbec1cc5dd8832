// The card with the account's amounts by token and day, and their chart.

import { useState } from "react";
import { findToken } from "../../shown/reading.ts";
import { Empty } from "../../ui/states.tsx";
import type { Chain, MoneyDay, MoneyName, Pace } from "../api.ts";
import { sayAmount, sayCount, sayToken, type TokenOnChain } from "../money.ts";
import { Chart } from "../parts/chart.tsx";
import { Select } from "../parts/field.tsx";
import { saySpan } from "../parts/say-time.ts";
import { Table } from "../parts/table.tsx";
import { moneyDays, useConfig, useMoney } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { useSpeech } from "../words/speech.ts";
import type { Say } from "../words/words.ts";
import { makeDayBars, moneyFills } from "./bars.ts";

/**
 * The CSS class for the color of each amount. The columns of the chart use the same classes ({@link
 * moneyFills}).
 */
const swatches: Record<MoneyName, string> = {
  requested: "chart-open",
  paid: "chart-waits",
  executed: "chart-good",
  returned: "chart-back",
};
const names = Object.keys(swatches) as MoneyName[];

/** Shows requested, paid, completed, and returned amounts by token and day. */
export function Money() {
  const { say } = useSpeech();
  const config = useConfig();
  const found = useMoney();
  const chains = config.data?.chains ?? [];
  return (
    <section aria-labelledby="money" className="card">
      <div className="p-5">
        <h2 id="money">{say("money")}</h2>
        <p className="mt-1 text-soft">{say("lastDays", { days: moneyDays })}</p>
      </div>
      <QueryState query={found} lines={4} />
      {found.data?.items.length === 0 && (
        <Empty icon="overview" title={say("noMoney")}>
          {say("noMoneyText")}
        </Empty>
      )}
      {found.data && found.data.items.length > 0 && (
        <ByToken items={found.data.items} pace={found.data.pace} chains={chains} />
      )}
      {found.data?.isMore && (
        <p role="status" className="border-t border-line p-4 text-soft">
          {say("stillCounting")}
        </p>
      )}
    </section>
  );
}

const keyOf = ({ chainId, token }: TokenOnChain) => `${chainId} ${token}`;

type ByTokenProps = { items: readonly MoneyDay[]; pace: Pace; chains: readonly Chain[] };

function ByToken({ items, pace, chains }: ByTokenProps) {
  const { say } = useSpeech();
  const places = [...new Map(items.map((item) => [keyOf(item), item])).values()];
  const [chosen, setChosen] = useState("");
  const place = places.find((each) => keyOf(each) === chosen) ?? places[0]!;
  const rows = items.filter((item) => keyOf(item) === keyOf(place));
  const sumOf = (name: MoneyName) => `${rows.reduce((sum, row) => sum + BigInt(row[name]), 0n)}`;
  return (
    <>
      <div className="space-y-4 px-5 pb-5">
        {places.length > 1 && (
          <Select
            label={say("token")}
            value={keyOf(place)}
            onChange={(event) => setChosen(event.target.value)}
          >
            {places.map((each) => (
              <option key={keyOf(each)} value={keyOf(each)}>
                {sayToken(each, chains, say)}
              </option>
            ))}
          </Select>
        )}
        <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-4">
          {names.map((name) => (
            <div key={name} className="flex min-w-0 flex-col-reverse justify-end">
              <dt className="flex items-baseline gap-2 text-sm text-soft">
                <svg
                  viewBox="0 0 10 10"
                  className="size-2.5 shrink-0 rounded-sm"
                  aria-hidden="true"
                >
                  <rect className={swatches[name]} width="10" height="10" />
                </svg>
                {say(name)}
              </dt>
              <dd className="text-lg font-semibold break-words tabular-nums">
                <bdi>{saySigned(sumOf(name), place, chains, say)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
        <Funnel days={rows} pace={pace} />
        <MoneyChart rows={rows} place={place} chains={chains} />
      </div>
      <div className="border-t border-line">
        <Table
          caption={say("moneyByDay", { token: sayToken(place, chains, say) })}
          rows={rows.toReversed()}
          keyOf={({ day }) => day}
          columns={[
            { head: say("day"), cell: ({ day }) => <time dateTime={day}>{day}</time> },
            ...names.map((name) => ({
              head: say(name),
              cell: (row: MoneyDay) => (
                <span className="tabular-nums">
                  <span className="me-1.5 text-sm text-soft sm:hidden">{say(name)}</span>
                  <bdi>{saySigned(row[name], place, chains, say)}</bdi>
                </span>
              ),
            })),
          ]}
        />
      </div>
    </>
  );
}

type MoneyChartProps = { rows: readonly MoneyDay[]; place: TokenOnChain; chains: readonly Chain[] };

function MoneyChart({ rows, place, chains }: MoneyChartProps) {
  const { say } = useSpeech();
  const token = findToken(place, chains, place.token);
  const says = (day: MoneyDay) =>
    say(
      "moneyDay",
      Object.fromEntries(names.map((name) => [name, saySigned(day[name], place, chains, say)])),
    );
  const decimals = token?.decimals ?? 0;
  const bars = makeDayBars(rows, { count: moneyDays, decimals, says }, say);
  return (
    <Chart
      title={say("moneyChart", { token: sayToken(place, chains, say) })}
      bars={bars}
      fills={moneyFills}
      sayMost={(most) =>
        token ? `${most} ${token.symbol}` : say("baseUnits", { amount: sayCount(most) })
      }
    />
  );
}

/**
 * Formats an amount that may be negative. The amount of a day is negative if a reorganization
 * removed an earlier day's payment.
 */
const saySigned = (units: string, place: TokenOnChain, chains: readonly Chain[], say: Say) =>
  units.startsWith("-")
    ? `−${sayAmount(units.slice(1), place, chains, say)}`
    : sayAmount(units, place, chains, say);

type FunnelProps = { days: readonly MoneyDay[]; pace: Pace };

/**
 * Shows how many addresses were created, paid, and executed, with the median times between these
 * steps.
 */
function Funnel({ days, pace }: FunnelProps) {
  const { say } = useSpeech();
  const countOf = (name: MoneyName) => days.reduce((sum, day) => sum + day[`${name}Count`], 0);
  const made = countOf("requested");
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

/**
 * Returns a percentage, or an empty text if `count` exceeds `total`. Some addresses that were paid
 * in a period are older than the period.
 */
const sayPart = (count: number, total: number) =>
  total > 0 && count <= total ? `${Math.round((count / total) * 100)} %` : "";

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
