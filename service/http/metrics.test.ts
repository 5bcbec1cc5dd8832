import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { pino } from "pino";
import { Gauge } from "prom-client";
import { httpEndpoint } from "../chain/rpc/endpoint.ts";
import { createMetrics, serveMetrics } from "./metrics.ts";

test("GET /metrics returns 500 and logs the error if a metric cannot be read", async (t) => {
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

test("metrics show the remaining pause of calls to a rate-limited provider", async (t) => {
  const provider = createServer((_, response) => {
    response.writeHead(429, { "retry-after": "86400" }).end();
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  t.after(() => provider.close());
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const endpoint = httpEndpoint("0:limits.example", url, { timeoutMs: 5000 }, { chainId: 7 });
  await assert.rejects(endpoint.ask([{ method: "eth_blockNumber", params: [] }]));
  const text = await createMetrics().registry.metrics();
  const read = (name: string) => {
    const value = new RegExp(`^${name}{chain="7",rpc="0:limits.example"} (.+)$`, "m").exec(text);
    return Number(value?.[1]);
  };
  assert.equal(read("rpc_limited_total"), 1);
  assert.ok(read("rpc_paused_seconds") > 30 && read("rpc_paused_seconds") <= 60);
  assert.ok(read("rpc_calls_per_second_max") >= 25);
});
