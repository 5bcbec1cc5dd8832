// Tests that a check reports Permit2 allowances that remain after the calls. findings.test.ts tests
// allowances in the token contract.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Call, Hex, Intent } from "executable-address";
import { deployOdd } from "../../testing/chain/odd-contracts.ts";
import {
  type SimulatedWorld,
  shop,
  startSimulated,
  stranger,
  transfer,
} from "../../testing/chain/simulated.ts";
import { openChecks } from "./checks.ts";

let world: SimulatedWorld;
let permit2: Hex;
/** A time after the expiry of each test's intent. */
const late = 4_000_000_000;

before(async () => {
  world = await startSimulated();
  permit2 = await deployOdd(world, "Permit2");
});
after(() => world?.stop());

const approve = (spender: Hex, amount: string): Call => ({
  target: world.token,
  function: "approve(address spender, uint256 amount)",
  args: [spender, amount],
});
const permit = (spender: Hex, amount: string, expiration: number): Call => ({
  target: permit2,
  function: "approve(address token, address spender, uint160 amount, uint48 expiration)",
  args: [world.token, spender, amount, `${expiration}`],
});

/** Returns the path and the message of each remaining allowance. */
async function allowancesAfter(...calls: Call[]) {
  const chain = { ...world.chainAt(world.rpcUrl), confirmations: 0, paymentConfirmations: 0 };
  const check = openChecks(chain);
  const change: Partial<Intent> = { amount: "100", calls: [...calls, transfer(world.token)] };
  const { simulation, findings } = await check(await world.newRecord(change));
  assert.equal(simulation.outcome, "succeeds", simulation.reason ?? "");
  return findings
    .filter(({ code }) => code === "allowance_left")
    .map(({ path, message }) => [path.join("."), message]);
}

const left = (spender: Hex, amount: string) =>
  `${spender} can still take up to ${amount} base units of later payments`;

describe("allowance_left of Permit2", () => {
  test("is reported with the amount that Permit2 can pull", async () => {
    const calls = [approve(permit2, "70"), permit(stranger, "900", late)];
    assert.deepEqual(await allowancesAfter(...calls), [
      ["calls.0.args.1", left(permit2, "70")],
      ["calls.1.args.2", left(stranger, "70")],
    ]);
  });

  test("is reported for each spender", async () => {
    const calls = [permit(shop, "5", late), permit(stranger, "6", late), approve(permit2, "9")];
    assert.deepEqual(await allowancesAfter(...calls), [
      ["calls.0.args.2", left(shop, "5")],
      ["calls.1.args.2", left(stranger, "6")],
      ["calls.2.args.1", left(permit2, "9")],
    ]);
  });

  test("is not reported if the allowance is revoked or expired", async () => {
    const found = [["calls.0.args.1", left(permit2, "70")]];
    const revoked = [permit(stranger, "70", late), permit(stranger, "0", late)];
    const expired = permit(stranger, "70", 1);
    assert.deepEqual(await allowancesAfter(approve(permit2, "70"), ...revoked), found);
    assert.deepEqual(await allowancesAfter(approve(permit2, "70"), expired), found);
  });

  test("is not reported if Permit2 cannot pull the token", async () => {
    assert.deepEqual(await allowancesAfter(permit(stranger, "70", late)), []);
  });
});
