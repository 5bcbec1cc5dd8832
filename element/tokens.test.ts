import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { findKnownToken, knownTokens } from "./tokens.ts";

type Chain = { chainId: number; tokens: { symbol: string; address: Hex; decimals: number }[] };
const path = join(import.meta.dirname, "../service/chains.json");
const chains: Chain[] = JSON.parse(readFileSync(path, "utf8"));

describe("findKnownToken", () => {
  test("findKnownToken returns undefined for a token on another chain", () => {
    const [first, second] = chains;
    assert.equal(findKnownToken(second!.chainId, first!.tokens[0]!.address), undefined);
    assert.equal(findKnownToken(31_337, first!.tokens[0]!.address), undefined);
  });

  test("findKnownToken knows the same tokens as the service", () => {
    for (const { chainId, tokens } of chains) {
      const known = knownTokens.filter(({ addresses }) => chainId in addresses);
      assert.equal(known.length, tokens.length);
      for (const { symbol, decimals, address } of tokens)
        assert.deepEqual(findKnownToken(chainId, address.toLowerCase() as Hex), {
          symbol,
          decimals,
        });
    }
    const known = new Set(knownTokens.flatMap(({ addresses }) => Object.keys(addresses)));
    assert.deepEqual(known, new Set(chains.map(({ chainId }) => String(chainId))));
  });
});
