import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../config.ts";
import { defaultEventLimits, divideEventLimits } from "../../http/limits.ts";

const DATABASE_URL = "postgres://user@host/database";

test("divideEventLimits divides the limits on event streams among the workers", () => {
  assert.deepEqual(divideEventLimits(readConfig({})), defaultEventLimits);
  assert.deepEqual(divideEventLimits(readConfig({ WORKERS: "3", DATABASE_URL })), {
    ...defaultEventLimits,
    streamsMax: 3_333,
    streamsPerAddressMax: 666,
    streamsPerClientMax: 66,
  });
});

test("the limit `createsInFlightMax` is not divided among the workers", () => {
  const { limits } = readConfig({ WORKERS: "3", DATABASE_URL, CREATES_IN_FLIGHT_MAX: "300" });
  assert.equal(limits.createsInFlightMax, 300);
});
