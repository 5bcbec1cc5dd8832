// Compares the selectors of the well-known functions with viem.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toFunctionSelector } from "viem";
import { encodeNewIntent, parseIntent } from "../index.ts";
import { shop, withCall } from "../test/samples.ts";
import { findSelectorOwner, wellKnown } from "./well-known.ts";

describe("functions that share the selector of a well-known function", () => {
  const signatures = Object.values(wellKnown).flatMap((group) => group.trim().split(/\s+/));

  test("findSelectorOwner returns the well-known function that has the selector", () => {
    for (const signature of signatures)
      assert.equal(findSelectorOwner(toFunctionSelector(`function ${signature}`)), signature);
    assert.equal(new Set(signatures).size, signatures.length);
    assert.equal(findSelectorOwner("0x00000000"), undefined);
  });

  test("encodeNewIntent refuses a function with the selector of a well-known function", () => {
    const intent = withCall("many_msg_babbage(bytes1 a)", "0x11");
    assert.doesNotThrow(() => parseIntent(intent));
    assert.throws(() => encodeNewIntent(intent), /0xa9059cbb belongs to .*transfer\(address,uint/);
    const approve = withCall("approve(address spender, uint256 amount)", shop, "1");
    assert.doesNotThrow(() => encodeNewIntent(approve));
  });
});
