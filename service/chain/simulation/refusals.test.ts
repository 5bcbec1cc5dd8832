import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "executable-address";
import { NodeError } from "../../testing/chain/node.ts";
import {
  type SimulatedWorld,
  startSimulated,
  stranger,
  transfer,
} from "../../testing/chain/simulated.ts";
import { startWorld } from "../../testing/chain/world.ts";
import { ChainUnavailable } from "../rpc/json-rpc.ts";
import { openSimulations } from "./simulation.ts";

let world: SimulatedWorld;
before(async () => {
  world = await startSimulated();
});
after(() => world?.stop());

describe("a simulation that cannot run", () => {
  test("throws if the node is unreachable or serves another chain", async () => {
    const record = await world.paid();
    await assert.rejects(world.simulate(record, "http://127.0.0.1:9"), ChainUnavailable);
    const other = await startWorld(1);
    await assert.rejects(
      world.simulate(record, other.rpcUrl),
      /expected a node of chain 31337, found 1/,
    );
    await other.stop();
  });

  test("throws if the node's result is malformed or from another chain", async () => {
    const record = await world.paid();
    const cases: [(answer: string) => string, RegExp][] = [
      [
        () => "0x1234",
        /^expected balances of \d+ pairs of account and token from the meter, found 0x1234$/,
      ],
      [
        (answer) => answer.replace(/^0x.{64}/, `0x${"7".padStart(64, "0")}`),
        /^expected a simulation on chain \d+ at time \d+, found chain 7 at time \d+$/,
      ],
    ];
    for (const [change, message] of cases) {
      let calls = 0;
      await world.through(
        async (method, params, ask) => {
          const answer = await ask(method, params);
          return method === "eth_call" && ++calls > 1 ? change(answer as string) : answer;
        },
        (url) => assert.rejects(world.simulate(record, url), { name: "ChainUnavailable", message }),
      );
    }
  });

  test("has the outcome `unknown` if the node refuses to measure balances", async () => {
    const record = await world.paid();
    let calls = 0;
    await world.through(
      async (method, params, ask) => {
        // The first call only reads the balance of the address.
        if (method === "eth_call" && ++calls > 1) throw new NodeError(-32000, "out of gas");
        return ask(method, params);
      },
      async (url) => {
        const { outcome, reason, changes } = await world.simulate(record, url);
        assert.deepEqual(
          [outcome, reason, changes],
          ["unknown", "the node did not run the simulation", []],
        );
      },
    );
  });

  test("has the outcome `unknown` if the node allows too little gas", async () => {
    const record = await world.paid([world.onShop("burnGas()")]);
    await world.through(
      (method, params, ask) => {
        const [call, ...rest] = params as [object];
        return method === "eth_call"
          ? ask(method, [{ ...call, gas: "0x989680" }, ...rest])
          : ask(method, params);
      },
      async (url) => {
        const { outcome, reason } = await world.simulate(record, url);
        assert.equal(outcome, "unknown");
        assert.match(reason!, /too little gas/);
      },
    );
  });

  test("has the outcome `unknown` if a balance cannot be set in the token's storage", async () => {
    const token = await world.deployOdd("LyingToken");
    const record = await world.newRecord({ token, calls: [world.onShop("visit()")] });
    const abi = [
      { type: "function", name: "lie", stateMutability: "nonpayable", outputs: [],
        inputs: ["uint256", "uint256", "bool"].map((type) => ({ type })) },
    ] as const; // biome-ignore format: one entry
    const hash = await world.client.writeContract({
      address: token,
      abi,
      functionName: "lie",
      args: [7n, 32n, false],
    });
    await world.client.waitForTransactionReceipt({ hash });
    const { outcome, reason } = await world.simulate(record);
    assert.deepEqual(
      [outcome, reason],
      ["unknown", "the simulation cannot set the balance of this token"],
    );
  });

  test("has the outcome `unknown` if the token does not report the assumed balance", async () => {
    // The token returns the stored number plus one. `findFunding` stores consecutive numbers, one
    // for each layout. So the returned number is the next layout's number, and `findFunding`
    // selects this wrong layout.
    const token = await world.withCode("0x6004355f525f60205260405f20546001015f5260205ff3");
    const record = await world.newRecord({ token, calls: [world.onShop("visit()")] });
    const { outcome, reason, fundingAssumed } = await world.simulate(record);
    assert.deepEqual(
      [outcome, reason],
      ["unknown", "the simulation cannot set the balance of this token"],
    );
    assert.equal(fundingAssumed, false);
  });

  test("has the outcome `impossible` after an execution, an expiry, or a recovery", async () => {
    const executed = await world.paid();
    await world.execute(executed);
    const done = await world.simulate(executed);
    assert.deepEqual([done.outcome, done.state, done.changes], ["impossible", "executed", []]);
    const alone = await startWorld();
    const own = openSimulations({ ...alone.chain, tokens: [] });
    const expired = await alone.newRecord();
    await alone.pay(expired.address, 100n);
    await alone.mineAt(expired.intent.expirationTimestamp + 1);
    assert.deepEqual(
      [(await own(expired)).outcome, (await own(expired)).state],
      ["impossible", "expired"],
    );
    await alone.recover(expired, [alone.token]);
    await sleep(150);
    assert.equal((await own(expired)).state, "recovered");
    await alone.stop();
  });
});

describe("a failed simulation reports the index and the reason of", () => {
  const failures: [string, () => Call[], number, RegExp][] = [
    [
      "a call that reverts",
      () => [transfer(world.token), world.onShop("fail()")],
      1,
      /^reverted with 0x/,
    ],
    [
      "a call to an address without code",
      () => [{ ...world.onShop("visit()"), target: stranger }],
      0,
      /^there is no contract/,
    ],
    [
      "a call that takes more than the balance",
      () => [transfer(world.token, "101")],
      0,
      /^reverted/,
    ],
    [
      "a call that reverts with very long data",
      () => [world.onShop("bomb(uint256 size, bool ok)", "100000", "false")],
      0,
      /./,
    ],
    ["a call that uses all gas", () => [world.onShop("burnGas()")], 0, /^no reason given$/],
  ];
  for (const [name, calls, index, reason] of failures) {
    test(name, async () => {
      const simulation = await world.simulate(await world.paid(calls()));
      assert.equal(simulation.outcome, "fails");
      assert.equal(simulation.failedCall, index);
      assert.match(simulation.reason!, reason);
      assert.deepEqual([simulation.changes, simulation.gasUsed], [[], null]);
    });
  }

  test("a token transfer that returns false", async () => {
    const token = await world.deployOdd("FalseToken");
    const { outcome, failedCall, reason } = await world.simulate(
      await world.paid([transfer(token)], { token }),
    );
    assert.deepEqual([outcome, failedCall, reason], ["fails", 0, "it returned false"]);
  });
});
