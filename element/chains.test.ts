import assert from "node:assert/strict";
import { test } from "node:test";
import { parseChains } from "../service/chain/chains.ts";
import { readChains } from "./chains.ts";

const token = {
  symbol: "USDC",
  address: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
  decimals: 6,
} as const;
const chain = { chainId: 1, name: "Ethereum", rpcUrls: ["https://rpc.example"], tokens: [token] };

const withToken = (change: object) => ({ ...chain, tokens: [{ ...token, ...change }] });

/**
 * Returns whether the service accepts the chain, and whether the page accepts both the chain and
 * its token.
 */
function compare(value: object): { accepted: boolean; shown: boolean } {
  let accepted = true;
  try {
    parseChains([value], "chains.json");
  } catch {
    accepted = false;
  }
  const [found] = readChains({ chains: [value] });
  return { accepted, shown: found !== undefined && found.tokens.length > 0 };
}

test("readChains accepts the same names, symbols, and decimals as the service", () => {
  const texts = [
    ...[0, 1, 11, 20, 21, 32, 33, 40, 41, 64, 65].map((length) => "N".repeat(length)),
    ...[" ", "U\u202eSDC", "a\u0301\u0301\u0301", "Soneium Minato (test network of Sony)"],
  ];
  const decimals = [-1, 0, 6, 18, 36, 37, 77, 78, 0.5];
  const values = [
    ...texts.map((name) => ({ ...chain, name })),
    ...texts.map((symbol) => withToken({ symbol })),
    ...decimals.map((each) => withToken({ decimals: each })),
  ];
  for (const value of values) {
    const { accepted, shown } = compare(value);
    assert.equal(shown, accepted, JSON.stringify(value));
  }
  assert.deepEqual(compare({ ...chain, name: "N".repeat(40) }), { accepted: true, shown: true });
  assert.deepEqual(compare(withToken({ symbol: "S".repeat(32), decimals: 36 })), {
    accepted: true,
    shown: true,
  });
});
