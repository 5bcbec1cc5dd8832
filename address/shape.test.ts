// Tests how the client checks a response, and how it describes a response that it refuses.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newEndpoint } from "./client/endpoints.ts";
import {
  address,
  among,
  chainId,
  describeMisfit,
  fits,
  list,
  object,
  orNull,
  proved,
  type Shape,
  text,
} from "./shape.ts";

const row = object({ chainId, state: among("open", "over"), reason: orNull(text) });
const page = object({ items: list(row), token: address, record: proved() });
const right = {
  items: [{ chainId: 1, state: "open", reason: null }],
  token: `0x${"aB".repeat(20)}`,
  record: {},
};

describe("describeMisfit", () => {
  const wrongRow = (change: object) => ({ ...right, items: [{ ...right.items[0], ...change }] });
  const cases: [value: unknown, description: string][] = [
    [null, "$: expected object, found null"],
    ["page", "$: expected object, found 4 characters"],
    [{}, "$.items: expected array, found nothing"],
    [{ ...right, items: {} }, "$.items: expected array, found an object"],
    [{ ...right, items: [right.items[0], 7] }, "$.items.1: expected object, found 7"],
    [wrongRow({ chainId: "1" }), "$.items.0.chainId: expected integer, found 1 characters"],
    [wrongRow({ chainId: 0 }), "$.items.0.chainId: expected integer, found 0"],
    [wrongRow({ state: "new" }), "$.items.0.state: expected open or over, found 3 characters"],
    [wrongRow({ reason: false }), "$.items.0.reason: expected string, found a boolean"],
    [{ ...right, token: "0x12" }, "$.token: expected /^0x[0-9a-fA-F]{40}$/, found 4 characters"],
    [{ ...right, record: null }, "$.record: expected object, found null"],
  ];
  for (const [value, description] of cases)
    test(`describeMisfit describes the first invalid field: ${description}`, () => {
      assert.equal(describeMisfit(page, value), description);
      assert.equal(fits(page, value), false);
    });

  test("describeMisfit does not show an invalid secret", () => {
    const shape = newEndpoint.properties.secret as Shape;
    assert.equal(
      describeMisfit(shape, "whsec_1234"),
      "$: expected /^whsec_[A-Za-z0-9+/]{43}=$/, found 10 characters",
    );
  });

  test("describeMisfit returns undefined for a valid value, even with unknown fields", () => {
    for (const value of [right, { ...right, later: 1 }, wrongRow({ reason: "late" })])
      assert.equal(describeMisfit(page, value), undefined);
  });
});
