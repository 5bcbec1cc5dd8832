// Tests the startup check of chains. Uses a local chain and RPC endpoints that do not respond.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { demoToken } from "executable-address-contracts";
import { type Anvil, anvilChain, anvilKeys, startAnvil } from "executable-address-contracts/anvil";
import { createWalletClient, type Hex, http, keccak256, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { parseChains } from "./chains.ts";
import { openChains } from "./registry.ts";

const silent = "http://127.0.0.1:9";
let anvil: Anvil;
let shanghai: Anvil;
let token: Hex;
let codeHash: Hex;
before(async () => {
  anvil = await startAnvil();
  shanghai = await startAnvil({ args: ["--hardfork", "shanghai"] });
  const account = privateKeyToAccount(anvilKeys[0]);
  const transport = http(anvil.rpcUrl);
  const wallet = createWalletClient({ account, chain: anvilChain, transport }).extend(
    publicActions,
  );
  const hash = await wallet.deployContract({ ...demoToken, args: ["Demo", "DEMO", 6] });
  const receipt = await wallet.waitForTransactionReceipt({ hash });
  token = receipt.contractAddress!;
  // The token can be used as the factory, because the check compares only code hashes.
  codeHash = keccak256((await wallet.getCode({ address: token }))!);
});
after(() => Promise.all([anvil.stop(), shanghai.stop()]));

type Line = { level: string; words: string };
async function open(chain: object, factory = { address: token, codeHash }) {
  const lines: Line[] = [];
  const to = (level: string) => (fields: object, message: string) => {
    lines.push({ level, words: `${message} ${JSON.stringify(fields)}` });
  };
  const log = { info: to("info"), warn: to("warn"), error: to("error") };
  const symbol = "DEMO";
  const tokens = [{ symbol, address: token, decimals: 6 }];
  const local = { chainId: 31337, name: "Local", rpcUrls: [anvil.rpcUrl], tokens, ...chain };
  const chains = await openChains(parseChains([local], "the test"), factory, log as never);
  chains.close();
  return { chains, lines, ids: chains.listed().map(({ chainId }) => chainId) };
}

describe("a chain is not listed, and an error is logged, if its RPC endpoint", () => {
  const wrong: [string, () => Promise<Awaited<ReturnType<typeof open>>>, RegExp][] = [
    [
      "belongs to a different chain",
      () => open({ chainId: 1 }),
      /RPC endpoint of chain 1, found chain 31337/,
    ],
    [
      "has different code at the factory's address",
      () => open({}, { address: token, codeHash: `0x${"1".repeat(64)}` }),
      /: expected the factory's code with the hash 0x[0-9a-f]{64}, found 0x/,
    ],
    [
      "has no code at the factory's address",
      () => open({}, { address: `0x${"9".repeat(40)}`, codeHash }),
      /there is no factory at 0x9{40}:/,
    ],
    [
      "does not support MCOPY",
      () => open({ rpcUrls: [shanghai.rpcUrl] }),
      /does not support MCOPY \(EIP-5656\), which Ethereum's Cancun fork added/,
    ],
    [
      "returns other decimals for a token",
      () => open({ tokens: [{ symbol: "DEMO", address: token, decimals: 18 }] }),
      /expected 18 decimals, found 6/,
    ],
    [
      "has no code at a token's address",
      () => open({ tokens: [{ symbol: "GONE", address: `0x${"8".repeat(40)}`, decimals: 6 }] }),
      /GONE 0x8{40} does not return decimals/,
    ],
  ];
  for (const [title, opening, message] of wrong) {
    test(title, async () => {
      const { chains, lines, ids } = await opening();
      assert.deepEqual(ids, []);
      assert.equal(chains.known.length, 1);
      assert.ok(chains.find(chains.known[0]!.chainId));
      assert.deepEqual(
        lines.map(({ level }) => level),
        ["error"],
      );
      assert.match(lines[0]?.words ?? "", /NOT LISTED/);
      assert.match(lines[0]?.words ?? "", message);
    });
  }
});

test("rpcOf throws for a chain that is not in the chains file", async () => {
  const { chains } = await open({});
  assert.throws(() => chains.rpcOf(2), { message: "chain 2 is not in the chains file" });
});

describe("a chain is listed", () => {
  test("if its RPC endpoint matches the chains file", async () => {
    const { ids, lines } = await open({});
    assert.deepEqual(ids, [31337]);
    assert.equal(lines[0]?.level, "info");
  });

  test("if the first RPC endpoint is down and the second matches the chains file", async () => {
    const { ids } = await open({ rpcUrls: [silent, anvil.rpcUrl] });
    assert.deepEqual(ids, [31337]);
  });

  test("with a warning in the log if no RPC endpoint responds", async () => {
    const { ids, lines } = await open({ rpcUrls: [`${silent}/secret-key`] });
    assert.deepEqual(ids, [31337]);
    assert.equal(lines[0]?.level, "warn");
    assert.ok(!lines[0]?.words.includes("secret-key"));
  });
});
