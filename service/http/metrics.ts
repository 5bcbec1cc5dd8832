// What an operator watches, in Prometheus' format, on a port of its own (METRICS_PORT).

import { createServer, type Server } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const responses = new Counter({
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

  return {
    /** For other rooms to register theirs. */
    registry,
    corruptRecords: new Counter({
      name: "corrupt_records_total",
      help: "Reads of a record that does not derive its address; never served",
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
    /** An onResponse hook; one for each route, so that no label is looked up twice. */
    countResponses(route: string) {
      const duration = seconds.labels(route);
      const byStatus = new Map<number, Counter.Internal>();
      return (_request: FastifyRequest, reply: FastifyReply, done: () => void) => {
        const status = reply.statusCode;
        const counter = byStatus.get(status) ?? responses.labels(route, String(status));
        byStatus.set(status, counter);
        counter.inc();
        duration.observe(reply.elapsedTime / 1000);
        done();
      };
    },
  };
}

/** Serves the registry, at any path; resolves when it listens. Node's own figures included. */
export function serveMetrics(registry: Registry, host: string, port: number): Promise<Server> {
  collectDefaultMetrics({ register: registry });
  const server = createServer((_request, response) => {
    registry.metrics().then(
      (text) => response.setHeader("Content-Type", registry.contentType).end(text),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(server));
  });
}
