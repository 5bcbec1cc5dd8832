// Serves metrics in the Prometheus format on a separate port (METRICS_PORT).

import { createServer, type Server } from "node:http";
import type { Logger } from "pino";
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  Registry,
} from "prom-client";
import { readProviders } from "../chain/rpc/endpoint.ts";

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];

  return {
    /** Other modules register their metrics here. */
    registry,
    corruptRecords: new Counter({
      name: "corrupt_records_total",
      help: "Requests refused because the stored record does not match its address",
      registers,
    }),
    limiterFaults: new Counter({
      name: "limiter_faults_total",
      help: "Requests limited by this server only, because the shared limiter did not respond",
      registers,
    }),
    shed: new Counter({
      name: "http_shed_total",
      help: "Requests rejected with 503 because too many were in progress",
      labelNames: ["route"],
      registers,
    }),
    sharedLimits: new Counter({
      name: "http_shared_limit_refusals_total",
      help: "Refused RPC calls and reports, because all clients together exceeded a limit",
      labelNames: ["limit", "chain"],
      registers,
    }),
    createsAdmitted: new Gauge({
      name: "http_creates_admitted_max",
      help: "Maximum number of simultaneous create requests, adjusted to recent latencies",
      registers,
    }),
    responses: new Counter({
      name: "http_responses_total",
      help: "Responses, by route and status",
      labelNames: ["route", "status"],
      registers,
    }),
    responseSeconds: new Histogram({
      name: "http_response_seconds",
      help: "Time from the headers of a request to the end of its response",
      labelNames: ["route"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    ...providerMetrics(registry),
  };
}

/** Returns the metrics of the RPC providers. The values are read at each collection. */
function providerMetrics(registry: Registry) {
  const shared = { labelNames: ["chain", "rpc"], registers: [registry] };
  const labels = ({ chainId, name }: { chainId: number; name: string }) => ({
    chain: String(chainId),
    rpc: name,
  });
  return {
    rpcPaused: new Gauge({
      ...shared,
      name: "rpc_paused_seconds",
      help: "Time until a provider accepts calls again, for all methods or for one method",
      aggregator: "max",
      collect() {
        for (const each of readProviders()) this.set(labels(each), each.pausedMs / 1000);
      },
    }),
    rpcRefusals: new Counter({
      ...shared,
      name: "rpc_limited_total",
      help: "Responses in which a provider limited the rate of calls",
      collect() {
        this.reset();
        for (const each of readProviders()) this.inc(labels(each), each.refusals);
      },
    }),
    rpcRate: new Gauge({
      ...shared,
      name: "rpc_calls_per_second_max",
      help: "Current limit on the rate of calls to a provider; absent if the rate is not limited",
      collect() {
        this.reset();
        for (const { callsPerSecond, ...each } of readProviders()) {
          if (callsPerSecond !== undefined) this.set(labels(each), callsPerSecond);
        }
      },
    }),
  };
}

type MetricsAddress = { metricsHost: string; metricsPort: number };

/** Serves the registry's metrics and Node's metrics, at every path. */
export function serveMetrics(registry: Registry, at: MetricsAddress, log: Logger): Promise<Server> {
  collectDefaultMetrics({ register: registry });
  return serve(registry.contentType, () => registry.metrics(), at, log);
}

/** Serves the combined metrics of this process's workers. */
export function serveWorkersMetrics(at: MetricsAddress, log: Logger): Promise<Server> {
  const registry = new AggregatorRegistry();
  return serve(registry.contentType, () => registry.clusterMetrics(), at, log);
}

/** Sends a worker's metrics, including Node's metrics, to the process that started the worker. */
export function reportMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  // The combined metric is the maximum of all workers. An average would hide a slow worker.
  Object.assign(registry.getSingleMetric(lagMetric)!, { aggregator: "max" });
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry();
}

const lagMetric = "nodejs_eventloop_lag_p99_seconds";

function serve(type: string, text: () => Promise<string>, at: MetricsAddress, log: Logger) {
  const server = createServer((_request, response) => {
    text().then(
      (body) => response.setHeader("content-type", type).end(body),
      (err: unknown) => {
        log.error({ err }, "the metrics could not be read");
        response.writeHead(500, { "content-type": "text/plain" }).end("see the log\n");
      },
    );
  });
  return new Promise<Server>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at.metricsPort, at.metricsHost, () => resolve(server));
  });
}
