// Tests that the IDs, tokens, and decimals of the shipped chains agree with other maintainers'
// packages.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Chain, readChains } from "../../service/chain/chains.ts";
import { root } from "../tree.ts";
import { chosen, unlisted } from "./choices.ts";
import { generateChains, generateSources, packageFacts } from "./generate.ts";

const path = join(root, "service/chains.json");
const shipped: Chain[] = readChains(path);
const { tokens, chains } = packageFacts;
const circle = chains.filter(({ from }) => from === "@circle-fin/bridge-kit");

/**
 * Returns a message for each token whose address no package contains, or whose decimals differ from
 * the decimals in a package.
 */
function differencesOf(listed: readonly Chain[]): string[] {
  return listed.flatMap(({ chainId, ...chain }) =>
    [...chain.tokens, ...chain.lookalikes].flatMap(({ symbol, address, decimals }) => {
      const same = tokens.filter(
        (token) =>
          token.chainId === chainId && token.address.toLowerCase() === address.toLowerCase(),
      );
      const what = `${symbol} of chain ${chainId}`;
      if (same.length === 0) return [`no package has ${what} at ${address}`];
      const other = same.find((token) => token.decimals !== decimals);
      return other ? [`${other.from} states ${other.decimals} decimals for ${what}`] : [];
    }),
  );
}

describe("service/chains.json", () => {
  test("control: a wrong chain ID, address, or number of decimals is found", () => {
    const [first, ...others] = structuredClone(shipped) as [Chain, ...Chain[]];
    const { address } = first.tokens[0]!;
    const change = (changed: Partial<Chain>) =>
      differencesOf([{ ...first, ...changed }, ...others]);
    assert.match(change({ chainId: 5 })[0]!, /^no package has USDC of chain 5 at 0x/);
    const token = first.tokens[0]!;
    const wrong = `${address.slice(0, -1)}${address.endsWith("0") ? 1 : 0}` as typeof address;
    assert.deepEqual(change({ tokens: [{ ...token, address: wrong }] }), [
      `no package has USDC of chain 1 at ${wrong}`,
    ]);
    assert.match(change({ tokens: [{ ...token, decimals: 18 }] })[0]!, /states 6 decimals/);
  });

  test("the address and decimals of every token match those in other packages", () =>
    assert.deepEqual(differencesOf(shipped), []));

  test("chains.json equals the output of scripts/chains/generate.ts", () => {
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), generateChains());
    const sources = readFileSync(new URL("sources.json", import.meta.url), "utf8");
    assert.deepEqual(JSON.parse(sources), generateSources());
  });

  test("chains.json lists at least 30 look-alike tokens", () => {
    const lookalikes = shipped.flatMap((chain) => chain.lookalikes);
    assert.ok(lookalikes.length >= 30, `${lookalikes.length}`);
  });
});

describe("chains with USDC in Circle's package", () => {
  const listed = new Set(chosen.map(({ chainId }) => chainId));

  test("every chain is either supported or omitted for a stated reason", () => {
    const missing = circle.filter(({ chainId }) => !listed.has(chainId) && !unlisted[chainId]);
    assert.deepEqual(missing, []);
  });

  test("a reason is stated only for chains that are in the package and unsupported", () => {
    const known = new Set(circle.map(({ chainId }) => chainId));
    for (const id of Object.keys(unlisted).map(Number)) {
      assert.ok(known.has(id), `chain ${id} is not in the package`);
      assert.ok(!listed.has(id), `chain ${id} is listed`);
    }
  });

  test('a chain that is omitted because of "one provider" has at most one RPC host', () => {
    for (const [id, reason] of Object.entries(unlisted)) {
      if (!reason.includes("one provider")) continue;
      const urls = chains.filter(({ chainId }) => chainId === Number(id)).flatMap((c) => c.rpcUrls);
      const hosts = new Set(urls.map((url) => new URL(url).hostname));
      assert.ok(hosts.size <= 1, `chain ${id} has ${[...hosts]}`);
    }
  });
});
