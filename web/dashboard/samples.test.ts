import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { collectionOf, type Hex } from "executable-address";
import { makeIntent } from "./samples.ts";

const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const receiver: Hex = "0x1111111111111111111111111111111111111111";
const payment = {
  ...{ chainId: 1, token, amount: "25000000", receiver },
  ...{ recovery: receiver, expirationTimestamp: 1_800_000_000 },
};

describe("makeIntent", () => {
  test("makeIntent returns a call that transfers the amount to the receiver", () => {
    const { amount, calls } = makeIntent(payment);
    assert.equal(amount, "25000000");
    assert.deepEqual(calls, [
      {
        target: token,
        function: "transfer(address to, uint256 amount)",
        args: [receiver, "25000000"],
      },
    ]);
  });

  test("makeIntent sets `amount` to the smallest amount that the payment accepts", () => {
    const { amount, calls } = makeIntent({ ...payment, least: "24750000" });
    assert.equal(amount, "24750000");
    const [least, most] = [24_750_000n, 25_000_000n];
    assert.deepEqual(collectionOf(calls[1] as never), {
      ...{ token: token.toLowerCase(), recipient: receiver, least, most },
    });
  });

  test("makeIntent returns only the fields of an intent", () => {
    const fields = Object.keys(makeIntent({ ...payment, least: "24750000" }));
    assert.deepEqual(fields, [
      ...["chainId", "token", "amount", "calls", "expirationTimestamp", "recovery"],
    ]);
  });
});
