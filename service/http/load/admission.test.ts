// Tests the admission of create requests with simulated requests and a simulated clock.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, test } from "node:test";
import type { FastifyReply, FastifyRequest } from "fastify";
import { openAdmission, openLatencyLimit } from "./admission.ts";

describe("the limits on simultaneous create requests", () => {
  test("no longer count a request after its client disconnects, at any stage", () => {
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
        assert.equal(admission.findFull(), undefined, `gone after ${goneAfter}`);
      }
    }
  });

  test("exclude a request from the adaptive limit while its body arrives", () => {
    const admission = openAdmission(1000, () => assert.fail("nothing is refused"));
    const [first, ...others] = Array.from({ length: admission.limit() }, () => exchange(false));
    for (const { request, reply } of [first!, ...others]) {
      assert.equal(admission.findFull(), undefined);
      admission.enter(request, reply, () => {});
    }
    const full = 'expected at most 256 simultaneous requests for "create", found 257';
    assert.equal(admission.findFull(), full);
    admission.awaitBody(first!.request, first!.reply, () => {});
    assert.equal(admission.findFull(), undefined);
    admission.begin(first!.request);
    assert.equal(admission.findFull(), full);
    first!.go();
    assert.equal(admission.findFull(), undefined);
  });

  test("close the slowest body's connection to admit a request, but only after one second", () => {
    let nowMs = 0;
    const onShed = () => assert.fail("nothing is refused");
    const admission = openAdmission(2, onShed, () => nowMs);
    const [slowest, slow, next] = [exchange(false), exchange(false), exchange(true)];
    for (const { request, reply } of [slowest, slow]) {
      admission.enter(request, reply, () => {});
      admission.awaitBody(request, reply, () => {});
    }
    nowMs = 999;
    assert.match(admission.findFull()!, /found 3 \(incomplete bodies: 2\)$/);
    nowMs = 1000;
    admission.enter(next.request, next.reply, () => {});
    const isCut = [slowest, slow, next].map(({ request }) => request.raw.destroyed);
    assert.deepEqual(isCut, [true, false, false]);
  });
});

/**
 * Returns a simulated request and its reply, and a function that ends the exchange. `complete`
 * means that the body of the request has arrived.
 */
function exchange(complete: boolean) {
  const socket = { destroy: () => Object.assign(raw, { destroyed: true }) };
  const raw = Object.assign(new EventEmitter(), { complete, destroyed: false, socket });
  const closing = new EventEmitter();
  return {
    request: { raw } as unknown as FastifyRequest,
    reply: { raw: closing, statusCode: 200 } as unknown as FastifyReply,
    go: () => closing.emit("close"),
  };
}

/**
 * Simulates a service. Each request uses the processor for a fixed time. It then waits, for example
 * for a disk. With `varies`, the wait is exponentially distributed with the mean `waitMs`. With
 * `stallMs`, the service does nothing in the first `stallMs` of every five seconds.
 */
type Service = { waitMs: number; busyMs: number; varies?: boolean; stallMs?: number };

const capacityOf = ({ busyMs }: Service) => 1000 / busyMs;

const stallEveryMs = 5_000;

/** Returns `atMs`, or the end of the stall if the service stalls at this time. */
function nextWorkAt(atMs: number, { stallMs = 0 }: Service): number {
  const periodAt = atMs - (atMs % stallEveryMs);
  return Math.max(atMs, periodAt + stallMs);
}

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
  const { waitMs, busyMs, varies = false } = service;
  const latencies: number[] = [];
  const ends: { at: number; tookMs: number }[] = [];
  let refused = 0;
  let freeAt = fromMs;
  let seed = 12_345;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  for (let sent = 0; sent < perSecond * seconds; sent++) {
    // Requests arrive at random times within their intervals, because real clients are independent
    // of each other.
    const now = fromMs + ((sent + random()) / perSecond) * 1000;
    while (ends.length > 0 && ends[0]!.at <= now) {
      const { at, tookMs } = ends.shift()!;
      limit.recordLatency(tookMs, at);
    }
    limit.recordPending(ends.length + 1);
    if (ends.length >= limit.current()) {
      refused++;
      continue;
    }
    freeAt = nextWorkAt(Math.max(freeAt, now), service) + busyMs;
    const at = freeAt + (varies ? -Math.log(1 - random()) * waitMs : waitMs);
    const place = ends.findLastIndex((end) => end.at <= at) + 1;
    ends.splice(place, 0, { at, tookMs: at - now });
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
  describe(`a limit on simultaneous requests that adapts to ${name}`, () => {
    const capacity = capacityOf(service);
    const start = () => {
      const limit = openLatencyLimit(1024);
      const perSecond = capacity / 10;
      const unloaded = offer(limit, service, { perSecond, seconds: 10, fromMs: 0 });
      return { limit, unloaded };
    };

    test("refuses nothing up to 90 % of the capacity", () => {
      const { limit, unloaded } = start();
      assert.equal(unloaded.refused, 0);
      const busy = offer(limit, service, {
        perSecond: 0.9 * capacity,
        seconds: 20,
        fromMs: 10_000,
      });
      assert.equal(busy.refused, 0);
    });

    test("at triple load, admits 90 % of the capacity, and p99 is at most 5 times normal", () => {
      const { limit, unloaded } = start();
      const from = { perSecond: 3 * capacity, fromMs: 10_000 };
      const first = offer(limit, service, { ...from, seconds: 5 });
      const over = offer(limit, service, { ...from, fromMs: 15_000, seconds: 60 });
      const message = JSON.stringify({ unloaded, first, over });
      assert.ok(first.p99 <= 300 * service.busyMs + service.waitMs, message);
      assert.ok(over.p99 <= 5 * unloaded.p99, message);
      assert.ok(over.perSecond >= 0.9 * capacity, message);
      const later = offer(limit, service, { perSecond: capacity / 2, seconds: 10, fromMs: 80_000 });
      assert.equal(later.refused, 0, "and is itself again");
    });

    test("control: a constant limit of 1,024 makes each request wait for 1,000 others", () => {
      const constant = { current: () => 1024, recordPending() {}, recordLatency() {} };
      const over = offer(constant, service, { perSecond: 3 * capacity, seconds: 5, fromMs: 0 });
      assert.ok(over.p99 > 900 * service.busyMs);
    });
  });
}

describe("a limit on simultaneous requests, with a database latency of 50 ms", () => {
  const database = { waitMs: 50, busyMs: 0.5 };
  const capacity = capacityOf(database);
  /**
   * Simulates 25 s of requests at three times the capacity. Returns the result of the last 20 s,
   * because the limit first adapts to the load.
   */
  const overload = (
    limit: ReturnType<typeof openLatencyLimit>,
    service: Service,
    fromMs: number,
  ) => {
    const perSecond = 3 * capacity;
    offer(limit, service, { perSecond, seconds: 5, fromMs });
    return offer(limit, service, { perSecond, seconds: 20, fromMs: fromMs + 5_000 });
  };

  test("refuses no request at low load if the latency increases to 400 ms", () => {
    const limit = openLatencyLimit(1024);
    const slow = { ...database, waitMs: 400 };
    offer(limit, database, { perSecond: 100, seconds: 5, fromMs: 0 });
    assert.equal(offer(limit, slow, { perSecond: 100, seconds: 20, fromMs: 5_000 }).refused, 0);
  });

  test("admits 90 % of the capacity if full use requires 500 simultaneous requests", () => {
    const limit = openLatencyLimit(1024);
    const parallel = { ...database, busyMs: 0.1 };
    const perSecond = 3 * capacityOf(parallel);
    offer(limit, parallel, { perSecond: 100, seconds: 5, fromMs: 0 });
    offer(limit, parallel, { perSecond, seconds: 5, fromMs: 5_000 });
    const over = offer(limit, parallel, { perSecond, seconds: 5, fromMs: 10_000 });
    assert.ok(over.perSecond >= 0.9 * capacityOf(parallel), JSON.stringify(over));
  });

  test("admits 90 % of the capacity after the disk becomes ten times slower", () => {
    const limit = openLatencyLimit(1024);
    const fast = { ...database, waitMs: 5 };
    offer(limit, fast, { perSecond: 100, seconds: 60, fromMs: 0 });
    offer(limit, database, { perSecond: 100, seconds: 360, fromMs: 60_000 });
    const over = overload(limit, database, 420_000);
    assert.ok(over.perSecond >= 0.9 * capacity, JSON.stringify(over));
  });

  test("admits 90 % of the capacity after an hour of widely varying latencies", () => {
    const limit = openLatencyLimit(1024);
    const shared = { ...database, varies: true };
    offer(limit, shared, { perSecond: 20, seconds: 3_600, fromMs: 0 });
    const over = overload(limit, shared, 3_600_000);
    assert.ok(over.perSecond >= 0.9 * capacity, JSON.stringify(over));
  });

  test("admits 72 % of the capacity if the disk stalls for 1 s of every 5 s", () => {
    const limit = openLatencyLimit(1024);
    offer(limit, database, { perSecond: 100, seconds: 60, fromMs: 0 });
    const over = overload(limit, { ...database, stallMs: 1_000 }, 60_000);
    assert.ok(over.perSecond >= 0.9 * 0.8 * capacity, JSON.stringify(over));
  });

  test("restores a low p99 latency after a customer used 300 connections for ten minutes", () => {
    const limit = openLatencyLimit(1024);
    const { p99 } = offer(limit, database, { perSecond: 100, seconds: 60, fromMs: 0 });
    overload(limit, database, 60_000);
    for (let at = 85_000; at < 685_000; at += database.busyMs) {
      limit.recordPending(300);
      limit.recordLatency(300 * database.busyMs, at);
    }
    const over = overload(limit, database, 685_000);
    assert.ok(over.p99 <= 5 * p99, JSON.stringify({ p99, over }));
  });

  test("restores a low p99 latency if another program takes 75 % of the processor", () => {
    const limit = openLatencyLimit(1024);
    const { p99 } = offer(limit, database, { perSecond: 100, seconds: 60, fromMs: 0 });
    overload(limit, database, 60_000);
    const rest = { ...database, busyMs: 4 * database.busyMs };
    offer(limit, rest, { perSecond: 3 * capacity, seconds: 60, fromMs: 85_000 });
    const over = overload(limit, rest, 145_000);
    assert.ok(over.p99 <= 5 * p99, JSON.stringify({ p99, over }));
  });
});
