import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ListedAddress } from "executable-address/client";
import { formatCsv } from "./csv.ts";

const token = `0x${"aa".repeat(20)}` as const;
const tokens = [{ symbol: "USDC", address: token, decimals: 6 }];
const chains = [{ chainId: 8453, name: "Base", tokens, explorer: null, localNode: null }];
const row = (reference: string | null, chainId = 8453): ListedAddress => ({
  address: `0x${"12".repeat(20)}`,
  recordUrl: `https://pay.example/v1/address/0x${"12".repeat(20)}`,
  reference,
  claimedReference: null,
  createdBy: "api_key",
  createdAt: "2026-11-22T06:00:00.000Z",
  ...{ chainId, token, amount: "1234000000", expirationTimestamp: 1_795_255_786 },
  requestedAmount: "1234567890",
  state: "executed",
  block: { number: 1, hash: `0x${"34".repeat(32)}`, timestamp: 1_795_255_700 },
  settledAt: "2026-11-22T07:00:00.000Z",
  transactionHash: null,
});
const lineOf = (reference: string | null) => formatCsv([row(reference)], chains).split("\r\n")[1]!;

describe("the CSV export", () => {
  test("the CSV export contains no formulas", () => {
    for (const formula of ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1"]) {
      const cell = lineOf(formula).split(",")[1]!;
      assert.match(cell, /^"?'/, formula);
    }
  });

  test("the CSV export quotes fields that contain commas or quotes", () => {
    assert.match(lineOf('a "b", c'), /,"a ""b"", c",/);
  });

  test("the CSV export has amounts in tokens and in base units", () => {
    const [head, line, end] = formatCsv([row("order 1")], chains).split("\r\n");
    assert.equal(head!.split(",").length, line!.split(",").length);
    assert.match(line!, /,order 1,.*,8453,Base,.*,USDC,1234\.56789,1234567890,executed,2026/);
    assert.equal(end, "");
  });

  test("the CSV export has only base units for an unknown token", () => {
    assert.match(formatCsv([row(null, 1)], chains), /,1,,0x(aa)+,,,1234567890,executed/);
  });
});
