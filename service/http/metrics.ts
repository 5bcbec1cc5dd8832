// What an operator watches, in Prometheus' format, on a port of its own (METRICS_PORT).

import { createServer, type Server } from "node:http";
import { Counter, collectDefaultMetrics, Registry } from "prom-client";
import { responseMetrics } from "./response-metrics.ts";

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];

  return {
    /** For other rooms to register theirs. */
    registry,
    corruptRecords: new Counter({
      name: "corrupt_records_total",
      help: "Requests that met a record which does not derive its address; never served",
      registers,
    }),
    limiterFaults: new Counter({
      name: "limiter_faults_total",
      help: "Requests limited by this server alone because the shared limiter did not answer",
      registers,
    }),
    shed: new Counter({
      name: "http_shed_total",
      help: "Requests refused at once because too many were under way",
      labelNames: ["route"],
      registers,
    }),
    /** An onResponse hook for each route. */
    countResponses: responseMetrics(registry),
  };
}

/** Serves the registry, at any path; resolves when it listens. Node's own figures included. */
export function serveMetrics(registry: Registry, host: string, port: number): Promise<Server> {
  collectDefaultMetrics({ register: registry });
  const server = createServer((_request, response) => {
    registry.metrics().then(
      (text) => response.setHeader("content-type", registry.contentType).end(text),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(server));
  });
}
