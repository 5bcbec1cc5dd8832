import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { factoryAddress, type Hex, makeRecord, zeroAddress } from "executable-address";
import { probeData } from "../../chain/status/probe.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { openCannedNetwork } from "../../testing/chain/canned-network.ts";
import type { Job } from "../ledger/jobs.ts";
import type { Pass } from "../pass.ts";
import { examine, type HoldingsMemory, openHoldingsMemory } from "./vaults.ts";

const token: Hex = `0x${"aa".repeat(20)}`;
const recovery: Hex = `0x${"bb".repeat(20)}`;
const transfer = "transfer(address to, uint256 value)";
const calls = [{ target: token, function: transfer, args: [recovery, "100"] }];
const word = (value: number) => value.toString(16).padStart(64, "0");

const jobs = Array.from({ length: 5 }, (_, index) => {
  const { address, terms } = makeRecord(
    {
      ...{ chainId: 1, token, amount: "100", calls, expirationTimestamp: 1_000, recovery },
      salt: `0x${word(index)}`,
    },
    { factory: factoryAddress },
  );
  return { address: lowerAddress(address), terms } as Job;
});

/** Maps the index of a job to the balance of its address. */
type Balances = Record<number, number>;

/** Returns the result of contracts/reading/Probe.sol. */
function probe(data: Hex, balances: Balances): Hex {
  const pairs = data.slice(probeData([]).length).match(/.{128}/g) ?? [];
  const holdings = pairs.map((pair) => {
    const index = jobs.findIndex(({ address }) => address === `0x${pair.slice(24, 64)}`);
    return [0, 0, 1, balances[index] ?? 0].map(word).join("");
  });
  return `0x${[1, 100, 96, pairs.length].map(word).join("")}${holdings.join("")}`;
}

/** Examines the jobs with one endpoint for each item of `shown`. */
async function balancesOf(shown: Balances[]) {
  const network = openCannedNetwork(shown.length, (place, { params }) => ({
    result: probe((params[0] as { data: Hex }).data, shown[place]!),
  }));
  const parts = {
    chain: { chainId: 1, tokens: [token], lookalikes: new Map() },
    factory: factoryAddress,
  };
  const pass = { parts, view: await network.openView(), memory: openHoldingsMemory() };
  const { examined } = await examine(pass as unknown as Pass<HoldingsMemory>, jobs);
  assert.deepEqual(
    examined.map(({ job }) => job),
    jobs,
  );
  for (const { vault } of examined) assert.equal(vault.balances.get(zeroAddress), 0n);
  return examined.map(({ vault }) => Number(vault.balances.get(token)));
}

describe("the balances that two endpoints report differently", () => {
  test("include each payment that one of the endpoints hides", async () => {
    assert.deepEqual(
      await balancesOf([
        { 0: 100, 3: 101 },
        { 1: 102, 3: 101, 4: 103 },
      ]),
      [100, 102, 0, 101, 103],
    );
  });

  test("are below the requested amount if both endpoints report less", async () => {
    const shown = [{ 2: 99 }, { 2: 98 }];
    const found = (await balancesOf(shown))[2]!;
    assert.ok(found === 99 || found === 98, `found ${found}`);
  });
});
