import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { getAddress } from "viem";
import { ChainsError, parseChains, readChains } from "./chains.ts";

const directory = mkdtempSync(join(tmpdir(), "chains-"));
after(() => rmSync(directory, { recursive: true }));

const usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const token = { symbol: "USDC", address: usdc, decimals: 6 };
const lookalike = {
  symbol: "USDC.e",
  name: "Bridged USDC",
  address: "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",
  decimals: 6,
  looksLike: "USDC",
  recoverMin: "5000000",
};
const chain = { chainId: 1, name: "Ethereum", rpcUrls: ["https://rpc.example"], tokens: [token] };

describe("parseChains", () => {
  const refused: [string, unknown, RegExp][] = [
    ["that is not a list", {}, /not a valid list of chains: [^:]/],
    ["that is empty", [], /not a valid list of chains/],
    ["with an unknown field", [{ ...chain, rpc: "x" }], /0: .*rpc/],
    ["without tokens", [{ ...chain, tokens: [] }], /0\.tokens/],
    ["without an RPC", [{ ...chain, rpcUrls: [] }], /0\.rpcUrls/],
    [
      "with an RPC URL that is not http or https",
      [{ ...chain, rpcUrls: ["ws://x"] }],
      /0\.rpcUrls\.0/,
    ],
    [
      "with a WebSocket URL that is not ws or wss",
      [{ ...chain, wsUrls: ["https://x"] }],
      /0\.wsUrls\.0/,
    ],
    [
      "with a token whose checksum is wrong",
      [{ ...chain, tokens: [{ ...token, address: usdc.replace("A0b", "a0b") }] }],
      /0\.tokens\.0\.address: .*checksum.*0xA0b8/,
    ],
    [
      "with a negative number of decimals",
      [{ ...chain, tokens: [{ ...token, decimals: -1 }] }],
      /decimals/,
    ],
    ["that lists a chain twice", [chain, chain], /chain 1 appears twice/],
    [
      "that lists a token twice, in different letter case",
      [{ ...chain, tokens: [token, { ...token, address: usdc.toLowerCase() }] }],
      /lists the token 0x[0-9a-fA-F]{40} twice/,
    ],
    [
      "with a tip price for a token that the chain does not list",
      [{ ...chain, tipPrices: { USDC: "1", DAI: "1" } }],
      /^chains\.json: chain 1 has a price for the token DAI, which the chain does not list$/,
    ],
    [
      "with a call limit for an unlisted URL, and shows only its host",
      [{ ...chain, callsPerSecond: { "https://other.example/secret": 5 } }],
      /^chains\.json: callsPerSecond of chain 1: .*, found a URL with the host other\.example$/,
    ],
    [
      "with a limit of zero calls per second",
      [{ ...chain, callsPerSecond: { "https://rpc.example": 0 } }],
      /0\.callsPerSecond/,
    ],
    [
      "with a look-alike token that has no `recoverMin`",
      [{ ...chain, lookalikes: [{ ...lookalike, recoverMin: undefined }] }],
      /0\.lookalikes\.0\.recoverMin/,
    ],
    [
      "with a look-alike of a token that the chain does not list",
      [{ ...chain, lookalikes: [{ ...lookalike, looksLike: "EURC" }] }],
      /the look-alike USDC\.e of chain 1 refers to the token EURC, which chain 1 does not list/,
    ],
    [
      "with a token that is listed as a look-alike of itself",
      [{ ...chain, lookalikes: [{ ...lookalike, address: usdc }] }],
      /lists the token 0x[0-9a-fA-F]{40} twice/,
    ],
    [
      "with more than 32 look-alike tokens on a chain",
      [{ ...chain, lookalikes: Array.from({ length: 33 }, () => lookalike) }],
      /0\.lookalikes: .*32/,
    ],
    [
      "that contains zkSync Era, whose CREATE2 addresses differ",
      [{ ...chain, chainId: 324 }],
      /324 \(zkSync Era\).*CREATE2 addresses differently/,
    ],
    [
      "that contains Tron, whose CREATE2 addresses differ",
      [{ ...chain, chainId: 728126428 }],
      /Tron.*CREATE2 addresses differently/,
    ],
  ];
  for (const [title, value, message] of refused) {
    test(`throws \`ChainsError\` for a file ${title}`, () => {
      assert.throws(
        () => parseChains(value, "chains.json"),
        (error: Error) => error instanceof ChainsError && message.test(error.message),
      );
    });
  }
});

describe("readChains", () => {
  test("throws `ChainsError` if the file is missing or not JSON", () => {
    const file = join(directory, "chains.json");
    assert.throws(() => readChains(file), /chains\.json cannot be read: ENOENT/);
    writeFileSync(file, "[");
    assert.throws(() => readChains(file), /cannot be read: .*JSON/);
  });
});

describe("the shipped chains file", () => {
  const shipped = readChains(new URL("../chains.json", import.meta.url).pathname);

  test("lists USDC with 6 decimals on every chain", () => {
    assert.ok(shipped.length >= 5);
    for (const { name, tokens, lookalikes } of shipped) {
      assert.equal(tokens.find(({ symbol }) => symbol === "USDC")?.decimals, 6, name);
      for (const { address } of [...tokens, ...lookalikes]) {
        assert.equal(getAddress(address.toLowerCase()), address);
      }
    }
  });

  test("lists bridged USDC as a look-alike on Optimism, Polygon, Base, and Arbitrum", () => {
    for (const chainId of [10, 137, 8453, 42_161]) {
      const { lookalikes } = shipped.find((each) => each.chainId === chainId)!;
      const bridged = lookalikes.find(({ name }) => name === "Bridged USDC");
      assert.equal(bridged?.looksLike, "USDC");
    }
  });

  test("exactly the test networks have `isTestnet` and a name ending in (testnet)", () => {
    const testing = [4801, 43_113, 80_002, 84_532, 763_373, 11_155_111, 11_155_420];
    for (const { chainId, name, isTestnet } of shipped) {
      const isMarked = testing.includes(chainId);
      assert.deepEqual([isTestnet, name.endsWith("(testnet)")], [isMarked, isMarked], name);
    }
    for (const id of testing) assert.ok(shipped.some(({ chainId }) => chainId === id));
  });

  test("contains an https block explorer and at least two RPC providers for every chain", () => {
    for (const { name, explorer, rpcUrls } of shipped) {
      assert.ok(new Set(rpcUrls.map((url) => new URL(url).hostname)).size >= 2, name);
      for (const url of [explorer, ...rpcUrls]) assert.match(url ?? "", /^https:/, name);
    }
  });
});
