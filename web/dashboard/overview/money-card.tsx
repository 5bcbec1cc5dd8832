import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Chart } from "../../ui/chart.tsx";
import { Select } from "../../ui/field.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { api, type Chain, type MoneyDay, type MoneyName, type Pace } from "../api.ts";
import { type Place, sayAmount, sayToken, tokenOf } from "../money.ts";
import { useConfig } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { dayBarsOf, moneyFills } from "./bars.ts";
import { Funnel } from "./funnel.tsx";

const names = ["asked", "paid", "executed", "returned"] as const;

const days = 30;
/** How soon to ask again while the server still counts. */
const countingMs = 500;

const heads: Record<MoneyName, string> = {
  asked: "Asked for",
  paid: "Paid",
  executed: "Executed",
  returned: "Returned",
};

/** The part of a column that is of this alone. */
const swatches: Record<MoneyName, string> = {
  asked: "chart-open",
  paid: "chart-waits",
  executed: "chart-good",
  returned: "chart-back",
};

/** Shows what was asked for and what became of it, by token and by day. */
export function Money() {
  const config = useConfig();
  const found = useQuery({
    queryKey: ["money", days],
    queryFn: () => api.money(days),
    refetchInterval: ({ state }) => (state.data?.isMore ? countingMs : false),
  });
  const chains = config.data?.chains ?? [];
  return (
    <section aria-labelledby="money" className="card">
      <div className="p-5">
        <h2 id="money">Money</h2>
        <p className="mt-1 text-soft">The last {days} days, by the calendar of UTC.</p>
      </div>
      <QueryState query={found} lines={4} />
      {found.data?.items.length === 0 && (
        <Empty icon="overview" title="No money yet">
          What your addresses ask for shows here within a minute, and what is paid as it comes.
        </Empty>
      )}
      {found.data && found.data.items.length > 0 && (
        <ByToken items={found.data.items} pace={found.data.pace} chains={chains} />
      )}
      {found.data?.isMore && (
        <p role="status" className="border-t border-line p-4 text-soft">
          Still counting what was asked for.
        </p>
      )}
    </section>
  );
}

const keyOf = ({ chainId, token }: Place) => `${chainId} ${token}`;

type ByTokenProps = { items: readonly MoneyDay[]; pace: Pace; chains: readonly Chain[] };

function ByToken({ items, pace, chains }: ByTokenProps) {
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
            label="Token"
            value={keyOf(place)}
            onChange={(event) => setChosen(event.target.value)}
          >
            {places.map((each) => (
              <option key={keyOf(each)} value={keyOf(each)}>
                {sayToken(each, chains)}
              </option>
            ))}
          </Select>
        )}
        <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-4">
          {names.map((name) => (
            <div key={name} className="min-w-0">
              <dt className="flex items-center gap-2 text-sm text-soft">
                <svg viewBox="0 0 10 10" className="size-2.5 rounded-sm" aria-hidden="true">
                  <rect className={swatches[name]} width="10" height="10" />
                </svg>
                {heads[name]}
              </dt>
              <dd className="text-lg font-semibold break-words tabular-nums">
                {saySigned(sumOf(name), place, chains)}
              </dd>
            </div>
          ))}
        </dl>
        <Funnel days={rows} pace={pace} />
        <MoneyChart rows={rows} place={place} chains={chains} />
      </div>
      <div className="border-t border-line">
        <Table
          caption={`Money by day, ${sayToken(place, chains)}`}
          rows={rows.toReversed()}
          keyOf={({ day }) => day}
          columns={[
            { head: "Day", cell: ({ day }) => <time dateTime={day}>{day}</time> },
            ...names.map((name) => ({
              head: heads[name],
              cell: (row: MoneyDay) => (
                <span className="tabular-nums">
                  <span className="mr-1.5 text-sm text-soft sm:hidden">
                    {heads[name].toLowerCase()}
                  </span>
                  {saySigned(row[name], place, chains)}
                </span>
              ),
            })),
          ]}
        />
      </div>
    </>
  );
}

type MoneyChartProps = { rows: readonly MoneyDay[]; place: Place; chains: readonly Chain[] };

function MoneyChart({ rows, place, chains }: MoneyChartProps) {
  const token = tokenOf(place, chains);
  const says = (day: MoneyDay) =>
    names.map((name) => `${heads[name].toLowerCase()} ${saySigned(day[name], place, chains)}`);
  const bars = dayBarsOf(rows, {
    count: days,
    decimals: token?.decimals ?? 0,
    says: (day) => says(day).join(", "),
  });
  return (
    <Chart
      title={`${sayToken(place, chains)} by day: what was asked for and what became of it`}
      bars={bars}
      fills={moneyFills}
      sayMost={(most) => `${most.toLocaleString("en")} ${token?.symbol ?? "base units"}`}
    />
  );
}

/** A reorganisation of the chain may take back on one day what came on another. */
const saySigned = (units: string, place: Place, chains: readonly Chain[]) =>
  units.startsWith("-")
    ? `−${sayAmount(units.slice(1), place, chains)}`
    : sayAmount(units, place, chains);
