import assert from "node:assert/strict";
import { test } from "node:test";
import { sayWith } from "../../ui/words/languages.ts";
import type { MoneyDay } from "../api.ts";
import { en } from "../words/words.ts";
import { makeBars, makeDayBars } from "./bars.ts";

const say = sayWith(en);
const now = Date.parse("2026-01-15T12:34:00Z");
const hour = (at: string, created: number) => ({
  hour: at,
  apiKey: { created, refused: 1 },
  clientId: { created: 1, refused: 0 },
});

test("makeBars includes hours without requests", () => {
  const hours = [
    hour("2026-01-15T12:00:00.000Z", 4),
    hour("2026-01-15T07:00:00.000Z", 2),
    hour("2026-01-15T06:00:00.000Z", 1),
    hour("2026-01-08T12:00:00.000Z", 9),
  ];
  const bars = makeBars(hours, { hours: 24, hoursPerBar: 6 }, say, now);
  assert.deepEqual(
    bars.map(({ parts }) => parts),
    [
      [0, 0],
      [0, 0],
      [2, 1],
      [8, 2],
    ],
  );
});

test("makeDayBars returns a bar with four amounts for each day", () => {
  const day = (at: string, sums: Partial<MoneyDay>): MoneyDay => ({
    ...{
      day: at,
      chainId: 1,
      token: "0x00",
      requested: "0",
      paid: "0",
      executed: "0",
      returned: "0",
    },
    ...{ requestedCount: 0, paidCount: 0, executedCount: 0, returnedCount: 0 },
    ...sums,
  });
  const days = [
    day("2026-01-12", { requested: "900" }),
    day("2026-01-13", { requested: "1000", paid: "700", executed: "400", returned: "100" }),
    day("2026-01-15", { paid: "500", executed: "800", returned: "-300" }),
  ];
  const says = ({ requested }: MoneyDay) => requested;
  const bars = makeDayBars(days, { count: 3, decimals: 2, says }, say, now);
  assert.deepEqual(
    bars.map(({ label, says, parts }) => [label, says, parts]),
    [
      ["Jan 13", "1000", [4, 1, 2, 3]],
      ["Jan 14", "no activity", [0, 0, 0, 0]],
      ["Jan 15", "0", [8, 0, 0, 0]],
    ],
  );
});
