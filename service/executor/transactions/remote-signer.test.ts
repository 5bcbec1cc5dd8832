import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { numberToHex, parseTransaction, serializeTransaction } from "viem";
import {
  asAsked,
  curveOrder,
  other,
  own,
  refused,
  wanted,
  withRemoteSigner,
} from "../../testing/executor/signing.ts";
import type { UnsignedTransaction } from "../pass.ts";

describe("a remote signer", () => {
  const changes: Partial<UnsignedTransaction>[] = [
    { chainId: 1 },
    { nonce: 8 },
    { to: own.address },
    { data: "0x1235" },
    { gas: 90_001 },
    { maxFee: 9_000_000_001n },
    { priorityFee: 3n },
  ];
  const fieldOf: Record<string, string> = {
    maxFee: "maxFeePerGas",
    priorityFee: "maxPriorityFeePerGas",
  };
  for (const change of changes) {
    const [name = ""] = Object.keys(change);
    const message = new RegExp(`changed the transaction: ${fieldOf[name] ?? name}$`);
    test(`throws SignerRefused if the signed ${name} differs from the request`, () =>
      withRemoteSigner(
        (asked) => own.sign({ ...asAsked(asked), ...change }),
        (signer) => assert.rejects(signer.sign(wanted), refused(message)),
      ));
  }

  test("throws `SignerRefused` if another key signed", () =>
    withRemoteSigner(
      () => other.sign(wanted),
      (signer) => assert.rejects(signer.sign(wanted), refused(/^expected a signature by 0x/)),
    ));

  test("throws `SignerRefused` for a response that is not the requested transaction", async () => {
    const parsed = parseTransaction(await own.sign(wanted));
    const { r, s, yParity, ...rest } = parsed as typeof parsed & { type: "eip1559" };
    const signature = { r: r!, s: s!, yParity: yParity! };
    const high = { ...signature, s: numberToHex(curveOrder - BigInt(s!)), yParity: 1 - yParity! };
    const answers: [unknown, RegExp][] = [
      [serializeTransaction({ ...rest, value: 1n }, signature), /changed the transaction: value$/],
      [serializeTransaction(rest, high), /s above half the curve order/],
      [serializeTransaction(rest), /expected a signed .*, found \d+ characters$/],
      ["0x02", /expected a signed/],
      ["s3cret", /expected a signed .*, found 6 characters$/],
      [null, /expected a signed .*, found no text$/],
      [{ raw: "0x02" }, /expected a signed/],
    ];
    for (const [answer, message] of answers) {
      await withRemoteSigner(
        async () => answer,
        (signer) => assert.rejects(signer.sign(wanted), refused(message)),
      );
    }
  });
});
