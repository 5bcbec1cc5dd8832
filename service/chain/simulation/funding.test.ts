import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeBalanceOf, type Hex } from "executable-address";
import { getAddress } from "viem";
import { recovery as owner, startWorld, type World } from "../../testing/chain/world.ts";
import { callAt } from "../rpc/chain-rpc.ts";
import { findFunding } from "./funding.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world?.stop());

const at = (digit: string) => getAddress(`0x${digit.repeat(40)}`);
const namespace = "52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00";
// Bytecode that loads the account: PUSH1 04 CALLDATALOAD.
const loadAccount = "600435";
// The end of each token's code returns the balance: SLOAD PUSH0 MSTORE PUSH1 20 PUSH0 RETURN.
const returnLoaded = "545f5260205ff3";

/**
 * Tokens with different storage layouts. The code of these tokens returns the balance for any
 * selector.
 */
const known: [string, Hex][] = [
  ["Solidity, slot 9", `0x${loadAccount}5f52600960205260405f20${returnLoaded}`],
  ["Solidity, slot 51", `0x${loadAccount}5f52603360205260405f20${returnLoaded}`],
  ["Vyper, slot 3", `0x60035f52${loadAccount}60205260405f20${returnLoaded}`],
  ["Solady", `0x6387a211a2600c52${loadAccount}5f526020600c20${returnLoaded}`],
  [
    "OpenZeppelin 5, upgradeable",
    `0x${loadAccount}5f527f${namespace}60205260405f20${returnLoaded}`,
  ],
];

async function balanceUnder(token: Hex, amount: bigint): Promise<bigint | undefined> {
  const { rpc } = world.chain;
  const block = await world.chain.rpc.heads.read();
  const overrides = await findFunding(rpc, block, { token, owner, amount });
  if (!overrides) return undefined;
  const data = encodeBalanceOf(owner);
  return BigInt(await callAt(rpc, block, { to: token, data }, overrides));
}

describe("findFunding", () => {
  const unknown: [string, Hex][] = [
    ["no code", "0x"],
    ["a revert", "0x5f5ffd"],
    ["a balance shorter than 32 bytes", "0x60015ff3"],
    ["a constant balance", "0x60075f5260205ff3"],
    ["balances at slot 200", `0x${loadAccount}5f5260c860205260405f20${returnLoaded}`],
    [
      "a balance that is twice the stored number",
      `0x${loadAccount}5f525f60205260405f20548001${returnLoaded.slice(2)}`,
    ],
  ];
  for (const [name, bytecode] of unknown) {
    test(`returns undefined for a token with ${name}`, async () => {
      await world.client.setCode({ address: at("7"), bytecode });
      assert.equal(await balanceUnder(at("7"), 100n), undefined);
    });
  }

  for (const [name, bytecode] of known) {
    test(`finds the storage slot of a balance in a token (${name})`, async () => {
      await world.client.setCode({ address: at("8"), bytecode });
      for (const amount of [1n, 25_000_000n, 2n ** 255n]) {
        assert.equal(await balanceUnder(at("8"), amount), amount);
      }
    });
  }

  test("finds the storage slot of an owner who already has a balance", async () => {
    await world.pay(owner, 40n);
    assert.equal(await balanceUnder(world.token, 100n), 100n);
    assert.equal(await world.balanceOf(owner), 40n);
  });
});
