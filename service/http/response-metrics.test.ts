import assert from "node:assert/strict";
import { test } from "node:test";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Counter, Histogram, Registry } from "prom-client";
import { responseMetrics } from "./response-metrics.ts";

test("what is shown is what prom-client's own counter and histogram show", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const registers = [theirs];
  const total = new Counter({
    name: "http_responses_total",
    help: "Answers, by route and status",
    labelNames: ["route", "status"],
    registers,
  });
  const seconds = new Histogram({
    name: "http_response_seconds",
    help: "From the request's head read to its answer written",
    labelNames: ["route"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const count = responseMetrics(ours);
  for (const route of ["/v1/chains", "/v1/address/:address"]) {
    const hook = count(route);
    for (const [statusCode, elapsedTime] of [
      [200, 0],
      [200, 0.3],
      [404, 1],
      [404, 1.25],
      [200, 5000],
      [503, 5000.5],
    ] as const) {
      hook({} as FastifyRequest, { statusCode, elapsedTime } as FastifyReply, () => {});
      total.inc({ route, status: String(statusCode) });
      seconds.observe({ route }, elapsedTime / 1000);
    }
  }
  const linesOf = async (registry: Registry) =>
    (await registry.metrics())
      .split("\n")
      .map((line) => line.replace(/\{(.*)\}/, (_, labels) => labels.split(",").sort().join()))
      .sort();
  assert.deepEqual(await linesOf(ours), await linesOf(theirs));
});
