import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, test } from "node:test";
import type { FastifyReply, FastifyRequest } from "fastify";
import { openAdmission } from "./admission.ts";

describe("the number of create requests in progress", () => {
  test("decreases if a client disconnects at any stage of its request", () => {
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

  test("excludes requests whose bodies are still arriving", () => {
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

  test("closes the connection of the slowest body, but only after one second", () => {
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
