import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { pino } from "pino";
import { Gauge } from "prom-client";
import { createMetrics, serveMetrics } from "./metrics.ts";

test("returns 500 without details, and logs them, if a metric cannot be read", async (t) => {
  const logged: string[] = [];
  const { registry } = createMetrics();
  new Gauge({
    name: "broken",
    help: "Cannot be read",
    registers: [registry],
    collect() {
      throw new Error("the secret reason");
    },
  });
  const log = pino({}, { write: (line: string) => logged.push(line) });
  const server = await serveMetrics(registry, { metricsHost: "127.0.0.1", metricsPort: 0 }, log);
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.equal(response.status, 500);
  assert.equal(await response.text(), "see the log\n");
  assert.match(logged.join(""), /the secret reason/);
});
