import assert from "node:assert/strict";
import { test } from "node:test";
import { barsOf } from "./bars.ts";

const now = Date.parse("2026-01-15T12:34:00Z");
const hour = (at: string, created: number) => ({
  hour: at,
  apiKey: { created, refused: 1 },
  clientId: { created: 1, refused: 0 },
});

test("the columns end with the present hour and silent hours are columns too", () => {
  const hours = [
    hour("2026-01-15T12:00:00.000Z", 4),
    hour("2026-01-15T07:00:00.000Z", 2),
    hour("2026-01-15T06:00:00.000Z", 1),
    hour("2026-01-08T12:00:00.000Z", 9),
  ];
  const bars = barsOf(hours, { hours: 24, hoursPerBar: 6 }, now);
  assert.deepEqual(
    bars.map(({ created, refused }) => [created, refused]),
    [
      [0, 0],
      [0, 0],
      [2, 1],
      [8, 2],
    ],
  );
});
