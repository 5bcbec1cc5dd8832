// GET /address/{address}/events: the status as server-sent events, the present one first, then each
// change. https://html.spec.whatwg.org/multipage/server-sent-events.html

import type { ServerResponse } from "node:http";
import { Gauge } from "prom-client";
import { networkOf, wideNetworkOf } from "../../accounts/attempts.ts";
import { Refusal } from "../errors.ts";
import { addressOf } from "../input/address.ts";
import { eventLimitsWithin } from "../limits.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { openEventHub } from "./events-hub.ts";
import type { Statuses } from "./status.ts";

/** How long a client waits before it comes back, when the connection was lost. */
const reconnectMs = 2_000;

export function events(parts: Parts, statuses: Statuses): Route {
  const { metrics, draining, log } = parts;
  const hub = openEventHub(
    { ...statuses, chainLoop: parts.chainLoop },
    eventLimitsWithin(parts.limits.connectionsMax, parts.eventLimits),
  );
  draining.addEventListener("abort", () => hub.close(), { once: true });
  new Gauge({
    name: "event_streams",
    help: "Event streams open now",
    registers: [metrics.registry],
    collect() {
      this.set(hub.countStreams());
    },
  });

  return {
    async handler(request, reply) {
      const subject = await statuses.readSubject(addressOf(request));
      const from = { client: networkOf(request.ip), network: wideNetworkOf(request.ip) };
      reply.header("content-type", "text/event-stream; charset=utf-8");
      reply.header("cache-control", "no-store");
      // Else a drain would wait for the connection to time out, long after the stream has ended.
      reply.header("connection", "close");
      // Proxies that buffer would hold back what happens now.
      reply.header("x-accel-buffering", "no");
      if (request.method === "HEAD") return reply.send();
      if (draining.aborted || !hub.hasRoom(subject.address, from)) {
        throw new Refusal("service_unavailable", "this server has no room for another stream", {
          headers: { "retry-after": "5" },
        });
      }
      const lastId = request.headers["last-event-id"];
      const headers = reply.getHeaders();
      reply.hijack();
      const response: ServerResponse = reply.raw;
      response.writeHead(200, headers as Record<string, string>);
      response.write(`retry: ${reconnectMs}\n\n`);
      response.on("error", (err) => log.debug({ err }, "an event stream broke"));
      const place = typeof lastId === "string" ? lastId : undefined;
      const close = hub.open(subject, from, place, response);
      response.once("close", close);
    },
  };
}
