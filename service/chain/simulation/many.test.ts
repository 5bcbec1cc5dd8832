import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Manner } from "../../testing/chain/node.ts";
import { type SimulatedWorld, startSimulated } from "../../testing/chain/simulated.ts";
import { openSimulations } from "./simulation.ts";

let world: SimulatedWorld;
before(async () => {
  world = await startSimulated();
});
after(() => world?.stop());

describe("openSimulations", () => {
  test("rejects a simulation that exceeds the time limit", async () => {
    const record = await world.paid();
    const slow: Manner = async (method, params, ask) => {
      if (method === "eth_simulateV1") await setTimeout(300);
      return ask(method, params);
    };
    await world.through(slow, async (url) => {
      const read = openSimulations(world.chainAt(url), { waitMsMax: 100 });
      await assert.rejects(read(record), {
        message: `${record.address} was not simulated within 100 ms`,
      });
    });
  });

  test("throws `ChainUnavailable` if eight other simulations run for too long", async () => {
    const records = await Promise.all(Array.from({ length: 9 }, () => world.newRecord()));
    let nowMs = 0;
    // Only eight simulations run simultaneously. When the ninth simulation can start, its time
    // limit has already passed.
    const late: Manner = async (method, params, ask) => {
      if (method === "eth_call") nowMs = 60_001;
      return ask(method, params);
    };
    await world.through(late, async (url) => {
      const read = openSimulations(world.chainAt(url), { waitMsMax: 60_000, now: () => nowMs });
      const asked = records.map(read);
      await assert.rejects(asked.pop()!, {
        name: "ChainUnavailable",
        message: "the simulation waited 60001 ms for other simulations, but the limit is 60000 ms",
      });
      await Promise.all(asked);
    });
  });

  test("runs only one simulation for 500 simultaneous requests for an address", async () => {
    const record = await world.paid();
    await world.through(
      (method, params, ask) => ask(method, params),
      async (url, calls) => {
        const read = openSimulations(world.chainAt(url));
        const answers = await Promise.all(Array.from({ length: 500 }, () => read(record)));
        assert.equal(new Set(answers).size, 1);
        assert.equal(calls.filter((method) => method === "eth_simulateV1").length, 1);
        assert.ok(calls.length <= 5, calls.join());
        await world.mine(1);
        await setTimeout(150);
        assert.equal((await read(record)).block.number, answers[0]!.block.number + 1);
      },
    );
  });
});
