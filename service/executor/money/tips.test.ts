import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Intent, tipAddress } from "executable-address";
import { parseChains } from "../../chain/chains.ts";
import { token } from "../../testing/app.ts";
import { openIntentFilter } from "./tips.ts";

const other = `0x${"22".repeat(20)}`;
const expirationTimestamp = 2_000_000_000;

const chains = parseChains(
  [
    {
      chainId: 1,
      name: "Ethereum",
      rpcUrls: ["http://127.0.0.1:9"],
      tokens: [{ symbol: "USDC", address: token, decimals: 6 }],
      tipPrices: { USDC: "400000000000000" },
    },
  ],
  "the test",
);

const tip = (of: string, amount = "50000") => ({
  target: tipAddress,
  function: "tip(address token, uint256 amount)",
  args: [of, amount],
});

const intent = (changes: Partial<Intent> = {}): Intent => ({
  chainId: 1,
  token,
  amount: "25000000",
  calls: [tip(token)],
  expirationTimestamp,
  recovery: `0x${"11".repeat(20)}`,
  salt: `0x${"00".repeat(32)}`,
  ...changes,
});

describe("openIntentFilter with `EXECUTOR_PAYS=tips`", () => {
  const at = (nowMs: number) => openIntentFilter(chains, "tips", () => nowMs);
  const before = at(0);

  test("requires a tip in a token whose price is configured", () => {
    assert.equal(before(intent({ calls: [] })), false);
    assert.equal(before(intent({ calls: [tip(other)] })), false);
  });

  test("rejects an intent for a chain that is not listed", () => {
    assert.equal(before(intent({ chainId: 10 })), false);
  });

  test("rejects an intent one second after its expiration time", () => {
    assert.equal(at((expirationTimestamp + 1) * 1000)(intent()), false);
  });

  test("accepts an intent less than one second after its expiration time", () => {
    assert.equal(at(expirationTimestamp * 1000)(intent()), true);
    assert.equal(at(expirationTimestamp * 1000 + 999)(intent()), true);
  });
});

describe("openIntentFilter with `EXECUTOR_PAYS=both`", () => {
  test("accepts expired intents, because their money can be returned", () => {
    const filter = openIntentFilter(chains, "both", () => (expirationTimestamp + 1) * 1000);
    assert.equal(filter(intent({ calls: [] })), true);
    assert.equal(filter(intent({ chainId: 10 })), false);
  });
});
