import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, test } from "node:test";
import type { FastifyReply, FastifyRequest } from "fastify";
import { openAdmission, openLatencyLimit } from "./admission.ts";

describe("the number of create requests in progress", () => {
  test("decreases if a client disconnects at any moment", () => {
    const admission = openAdmission(1, () => assert.fail("nothing is refused"));
    for (const goneAfter of ["enter", "awaitBody", "begin"]) {
      for (const isComplete of [false, true]) {
        const { request, reply, go } = exchange(isComplete);
        const steps = {
          enter: () => admission.enter(request, reply, () => {}),
          awaitBody: () => admission.awaitBody(request, reply, () => {}),
          begin: () => admission.begin(request),
        };
        for (const [name, step] of Object.entries(steps)) {
          step();
          if (name === goneAfter) go();
        }
        assert.equal(admission.isFull(), false, `gone after ${goneAfter}`);
      }
    }
  });

  test("excludes requests whose bodies are still arriving", () => {
    const admission = openAdmission(1000, () => assert.fail("nothing is refused"));
    const [first, ...others] = Array.from({ length: admission.limit() }, () => exchange(false));
    for (const { request, reply } of [first!, ...others]) {
      assert.equal(admission.isFull(), false);
      admission.enter(request, reply, () => {});
    }
    assert.equal(admission.isFull(), true);
    admission.awaitBody(first!.request, first!.reply, () => {});
    assert.equal(admission.isFull(), false);
    admission.begin(first!.request);
    assert.equal(admission.isFull(), true);
    first!.go();
    assert.equal(admission.isFull(), false);
  });
});

/**
 * Returns a request with a complete or incomplete body, its reply, and a function that completes
 * the exchange.
 */
function exchange(complete: boolean) {
  const raw = Object.assign(new EventEmitter(), { complete, destroyed: false });
  const closing = new EventEmitter();
  return {
    request: { raw } as unknown as FastifyRequest,
    reply: { raw: closing, statusCode: 200 } as unknown as FastifyReply,
    go: () => closing.emit("close"),
  };
}

/**
 * A simulated service. Each request waits for a fixed time (for example, for a disk), and uses the
 * processor for a fixed time.
 */
type Service = { waitMs: number; busyMs: number };

/**
 * Simulates `perSecond` requests per second for `seconds` seconds.
 *
 * @returns the latencies of admitted requests, and the number of refused requests
 */
function offer(
  limit: ReturnType<typeof openLatencyLimit>,
  service: Service,
  { perSecond, seconds, fromMs }: { perSecond: number; seconds: number; fromMs: number },
) {
  const latencies: number[] = [];
  const ends: { at: number; tookMs: number }[] = [];
  let refused = 0;
  let freeAt = fromMs;
  let random = 12_345;
  for (let sent = 0; sent < perSecond * seconds; sent++) {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
    // Requests arrive at random times within equal intervals, because real clients are independent
    // of each other.
    const now = fromMs + ((sent + random / 2 ** 31) / perSecond) * 1000;
    while (ends.length > 0 && ends[0]!.at <= now) {
      const { at, tookMs } = ends.shift()!;
      limit.recordLatency(tookMs, at);
    }
    limit.recordPending(ends.length + 1);
    if (ends.length >= limit.current()) {
      refused++;
      continue;
    }
    freeAt = Math.max(freeAt, now) + service.busyMs;
    const at = freeAt + service.waitMs;
    ends.push({ at, tookMs: at - now });
    latencies.push(at - now);
  }
  latencies.sort((a, b) => a - b);
  const part = (share: number) => latencies[Math.floor(share * (latencies.length - 1))]!;
  return { perSecond: latencies.length / seconds, p50: part(0.5), p99: part(0.99), refused };
}

const services: Record<string, Service> = {
  "0.1 ms of processor, 2 ms of disk": { waitMs: 2, busyMs: 0.1 },
  "1 ms of processor, 12 ms of a database": { waitMs: 12, busyMs: 1 },
  "5 ms of processor, 20 ms of a database": { waitMs: 20, busyMs: 5 },
};

for (const [name, service] of Object.entries(services)) {
  describe(`openLatencyLimit with requests of ${name}`, () => {
    const capacity = 1000 / service.busyMs;
    const start = () => {
      const limit = openLatencyLimit(1024);
      const perSecond = capacity / 10;
      const unloaded = offer(limit, service, { perSecond, seconds: 10, fromMs: 0 });
      return { limit, unloaded };
    };

    test("refuses no request at 90 % of the service's capacity", () => {
      const { limit, unloaded } = start();
      assert.equal(unloaded.refused, 0);
      const busy = offer(limit, service, {
        perSecond: 0.9 * capacity,
        seconds: 20,
        fromMs: 10_000,
      });
      assert.equal(busy.refused, 0);
    });

    test("at triple load, serves 90 % of the capacity with at most 5 times the p99", () => {
      const { limit, unloaded } = start();
      const from = { perSecond: 3 * capacity, fromMs: 10_000 };
      offer(limit, service, { ...from, seconds: 5 });
      const over = offer(limit, service, { ...from, fromMs: 15_000, seconds: 60 });
      const message = JSON.stringify({ unloaded, over });
      assert.ok(over.p99 <= 5 * unloaded.p99, message);
      assert.ok(over.perSecond >= 0.9 * capacity, message);
      const later = offer(limit, service, { perSecond: capacity / 2, seconds: 10, fromMs: 80_000 });
      assert.equal(later.refused, 0, "and is itself again");
    });

    test("control: with a constant limit of 1,024, p99 exceeds the time of 900 requests", () => {
      const constant = { current: () => 1024, recordPending() {}, recordLatency() {} };
      const over = offer(constant, service, { perSecond: 3 * capacity, seconds: 5, fromMs: 0 });
      assert.ok(over.p99 > 900 * service.busyMs);
    });
  });
}

test("openLatencyLimit does not refuse requests if only the disk is slow", () => {
  const limit = openLatencyLimit(1024);
  const slow = { waitMs: 400, busyMs: 0.1 };
  offer(limit, { waitMs: 2, busyMs: 0.1 }, { perSecond: 100, seconds: 5, fromMs: 0 });
  assert.equal(offer(limit, slow, { perSecond: 100, seconds: 20, fromMs: 5_000 }).refused, 0);
});
