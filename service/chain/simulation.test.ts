import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AddressRecord, Call, Hex, Intent } from "executable-address";
import type { Simulation } from "executable-address/client";
import { createPublicClient, getAddress, http, zeroAddress } from "viem";
import { deployOdd } from "./odd-contracts-for-tests.ts";
import { openSimulations } from "./simulation-reader.ts";
import { type Manner, NodeError, startNode, unhashed } from "./status-node-for-tests.ts";
import { StatusUnavailable } from "./status-unavailable.ts";
import { startWorld, type World } from "./status-world-for-tests.ts";

const shop: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const stranger: Hex = getAddress(`0x${"55".repeat(20)}`);
const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const unlimited = (2n ** 256n - 1n).toString();
let world: World;
let target: Hex;
let tokens: { symbol: string; address: Hex; decimals: number }[];

before(async () => {
  world = await startWorld();
  target = await deployOdd(world, "Shop");
  tokens = [{ symbol: "DMO", address: world.token, decimals: 6 }];
});
after(() => world?.stop());

const clientAt = (url: string) =>
  createPublicClient({ transport: http(url, { retryCount: 0 }), cacheTime: 0 });
const simulate = (record: AddressRecord, url = world.rpcUrl) =>
  openSimulations({ ...world.chain, client: clientAt(url), tokens })(record);
const transfer = (token: Hex, amount = "100", to = shop): Call => ({
  target: token,
  function: "transfer(address to, uint256 amount)",
  args: [to, amount],
});
const onShop = (text: string, ...args: string[]): Call => ({ target, function: text, args });

/** A record of `calls`, paid with its 100 units. */
async function paid(calls?: Call[], change: Partial<Intent> = {}): Promise<AddressRecord> {
  const record = await world.newRecord({ ...(calls ? { calls } : {}), ...change });
  await world.pay(record.address, 100n, record.intent.token);
  return record;
}

/** The changes as "account token change", in the words of the test. */
const changesOf = (simulation: Simulation, names: Record<Hex, string>) =>
  simulation.changes
    .map(({ account, token, change }) => `${names[account] ?? account} ${names[token]} ${change}`)
    .sort();

describe("what cannot be simulated is not guessed", () => {
  test("unavailable where no node answers, or another chain's does", async () => {
    const record = await paid();
    await assert.rejects(simulate(record, "http://127.0.0.1:9"), StatusUnavailable);
    const other = await startWorld(1);
    await assert.rejects(simulate(record, other.rpcUrl), /wanted a node of chain 31337, found 1/);
    await other.stop();
  });

  test("unknown where the node takes no call that creates", async () => {
    const record = await paid();
    let calls = 0;
    await through(
      async (method, params, ask) => {
        // The first is the probe, which says what the address holds.
        if (method === "eth_call" && ++calls > 1) throw new NodeError(-32000, "out of gas");
        return ask(method, params);
      },
      async (url) => {
        const { outcome, reason, changes } = await simulate(record, url);
        assert.deepEqual([outcome, reason, changes], ["unknown", "the node did not run it", []]);
      },
    );
  });

  test("unknown where the node gives too little gas to tell whose fault it is", async () => {
    const record = await paid([onShop("burnGas()")]);
    await through(
      (method, params, ask) => {
        const [call, ...rest] = params as [object];
        return method === "eth_call"
          ? ask(method, [{ ...call, gas: "0x989680" }, ...rest])
          : ask(method, params);
      },
      async (url) => {
        const { outcome, reason } = await simulate(record, url);
        assert.equal(outcome, "unknown");
        assert.match(reason!, /too little gas/);
      },
    );
  });

  test("unknown where an unpaid token computes its balances in its own way", async () => {
    const token = await deployOdd(world, "LyingToken", "OddTokens");
    const record = await world.newRecord({ token, calls: [onShop("visit()")] });
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
    const { outcome, reason } = await simulate(record);
    assert.deepEqual([outcome, reason], ["unknown", "the token cannot be assumed paid"]);
  });

  test("impossible once it executed, expired or was returned", async () => {
    const executed = await paid();
    await world.execute(executed);
    const done = await simulate(executed);
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
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.equal((await own(expired)).state, "recovered");
    await alone.stop();
  });
});

describe("an execution that would revert says so, with the call and its reason", () => {
  const failures: [string, () => Call[], number, RegExp][] = [
    [
      "a call that reverts",
      () => [transfer(world.token), onShop("fail()")],
      1,
      /^reverted with 0x/,
    ],
    [
      "a call to an address without code",
      () => [{ ...onShop("visit()"), target: stranger }],
      0,
      /^no contract/,
    ],
    [
      "a call that asks for more than is there",
      () => [transfer(world.token, "101")],
      0,
      /^reverted/,
    ],
    [
      "a return bomb that reverts",
      () => [onShop("bomb(uint256 size, bool ok)", "100000", "false")],
      0,
      /./,
    ],
    ["a call that burns all gas", () => [onShop("burnGas()")], 0, /^no reason given$/],
  ];
  for (const [name, calls, index, reason] of failures) {
    test(name, async () => {
      const simulation = await simulate(await paid(calls()));
      assert.equal(simulation.outcome, "fails");
      assert.equal(simulation.failedCall, index);
      assert.match(simulation.reason!, reason);
      assert.deepEqual([simulation.changes, simulation.gasUsed], [[], null]);
    });
  }

  test("a token that answers false", async () => {
    const token = await deployOdd(world, "FalseToken", "OddTokens");
    const { outcome, failedCall, reason } = await simulate(
      await paid([transfer(token)], { token }),
    );
    assert.deepEqual([outcome, failedCall, reason], ["fails", 0, "answered false"]);
  });
});

describe("an execution that would succeed shows what it moves, as measured", () => {
  const names = (record: AddressRecord, more: Record<Hex, string> = {}) => ({
    [record.address]: "vault",
    [shop]: "shop",
    [target]: "target",
    [record.intent.token]: "token",
    [zeroAddress]: "native",
    ...more,
  });

  test("a plain payment, at the newest block, with what it costs", async () => {
    const record = await paid();
    const simulation = await simulate(record);
    const { number, hash, timestamp } = await world.client.getBlock();
    assert.deepEqual(simulation.block, {
      number: Number(number),
      hash,
      timestamp: Number(timestamp),
    });
    assert.deepEqual(simulation.changes, [
      {
        account: record.address,
        roles: ["vault"],
        token: world.token,
        symbol: "DMO",
        decimals: 6,
        change: "-100",
      },
      {
        account: shop,
        roles: ["named"],
        token: world.token,
        symbol: "DMO",
        decimals: 6,
        change: "100",
      },
    ]);
    const { outcome, state, reason, failedCall, fundingAssumed, scope, unmeasured } = simulation;
    assert.deepEqual(
      { outcome, state, reason, failedCall, fundingAssumed, scope, unmeasured },
      {
        outcome: "succeeds",
        state: "funded",
        reason: null,
        failedCall: null,
        fundingAssumed: false,
        scope: "transfers",
        unmeasured: 0,
      },
    );
    const { gasUsed } = await world.execute(record);
    assert.ok(
      Math.abs(Number(gasUsed) - simulation.gasUsed!) < 2_000,
      `${gasUsed} ${simulation.gasUsed}`,
    );
  });

  for (const held of [0n, 40n]) {
    test(`holding ${held} of 100, as if it held exactly 100, and says so`, async () => {
      const record = await world.newRecord();
      if (held > 0n) await world.pay(record.address, held);
      const simulation = await simulate(record);
      assert.deepEqual([simulation.outcome, simulation.fundingAssumed], ["succeeds", true]);
      assert.deepEqual(changesOf(simulation, names(record)), [
        "shop token 100",
        "vault token -100",
      ]);
      assert.equal(await world.balanceOf(record.address), held);
    });
  }

  test("more than is asked for: what it really holds", async () => {
    const record = await paid();
    await world.pay(record.address, 11n);
    const simulation = await simulate(record);
    assert.equal(simulation.fundingAssumed, false);
    assert.deepEqual(changesOf(simulation, names(record)), ["shop token 100", "vault token -100"]);
  });

  test("an approval that is taken up, and one that is left", async () => {
    const approve = (amount: string): Call => ({
      target: world.token,
      function: "approve(address spender, uint256 amount)",
      args: [target, amount],
    });
    const pay = onShop("pay(address token, uint256 amount)", world.token, "60");
    const record = await paid([approve(unlimited), pay]);
    const simulation = await simulate(record);
    assert.deepEqual(changesOf(simulation, names(record)), ["target token 60", "vault token -60"]);
    const roles = simulation.changes.find(({ account }) => account === target)?.roles;
    assert.deepEqual(roles, ["target", "named"]);
  });

  test("a fee on transfer: what arrives, not what was sent", async () => {
    const token = await deployOdd(world, "FeeToken", "OddTokens");
    const record = await paid([transfer(token)], { token });
    const simulation = await simulate(record);
    assert.deepEqual(changesOf(simulation, { ...names(record), [token]: "token" }), [
      "shop token 99",
      "token token 1",
      "vault token -100",
    ]);
    assert.ok(
      simulation.changes.every(({ symbol, decimals }) => symbol === null && decimals === null),
    );
  });

  test("a token that lies in its Transfer logs: what its balances say", async () => {
    const token = await deployOdd(world, "BoastingToken", "OddTokens");
    const record = await paid([transfer(token)], { token });
    const simulation = await simulate(record);
    assert.deepEqual(changesOf(simulation, { ...names(record), [stranger]: "stranger" }), [
      "shop token 100",
      "vault token -100",
    ]);
  });

  test("a token without logs, as the intent names who has it then", async () => {
    const token = await deployOdd(world, "SilentToken", "OddTokens");
    const record = await paid([transfer(token)], { token });
    assert.deepEqual(changesOf(await simulate(record), names(record)), [
      "shop token 100",
      "vault token -100",
    ]);
  });

  test("a return bomb that succeeds changes nothing", async () => {
    const bomb = onShop("bomb(uint256 size, bool ok)", "100000", "true");
    const simulation = await simulate(await paid([bomb]));
    assert.deepEqual([simulation.outcome, simulation.changes], ["succeeds", []]);
  });

  test("native coin that a target sends", async () => {
    const giver = getAddress(`0x${"61".repeat(20)}`);
    // Sends all it has to its caller: PUSH0 4 times, SELFBALANCE CALLER GAS CALL.
    await world.client.setCode({ address: giver, bytecode: "0x5f5f5f5f47335af100" });
    await world.client.setBalance({ address: giver, value: 7n });
    const record = await paid([{ ...onShop("visit()"), target: giver }]);
    assert.deepEqual(changesOf(await simulate(record), { ...names(record), [giver]: "giver" }), [
      "giver native -7",
      "vault native 7",
    ]);
  });

  test("more transfers than are measured: the number of those left out", async () => {
    const crowd = getAddress(`0x${"62".repeat(20)}`);
    // PUSH2 to, PUSH2 from, PUSH32 topic, PUSH0 PUSH0 LOG3.
    const log = (_: unknown, index: number) => {
      const account = (0x7000 + index).toString(16);
      return `61${account}61${account}7f${transferTopic}5f5fa3`;
    };
    const logs = Array.from({ length: 150 }, log).join("");
    await world.client.setCode({ address: crowd, bytecode: `0x${logs}` });
    const record = await paid([transfer(world.token), { ...onShop("visit()"), target: crowd }]);
    const simulation = await simulate(record);
    assert.deepEqual(changesOf(simulation, names(record)), ["shop token 100", "vault token -100"]);
    assert.equal(simulation.unmeasured, 150);
  });

  test("on a node without eth_simulateV1: those the intent names, and says so", async () => {
    const record = await paid();
    const old: Manner = async (method, params, ask) => {
      if (method === "eth_simulateV1") throw new NodeError(-32601, "the method does not exist");
      return ask(method, params);
    };
    await through(old, async (url) => {
      const simulation = await simulate(record, url);
      assert.deepEqual([simulation.scope, simulation.gasUsed], ["intent", null]);
      assert.deepEqual(changesOf(simulation, names(record)), [
        "shop token 100",
        "vault token -100",
      ]);
    });
  });

  test("on a node that knows no block by its hash", async () => {
    await through(unhashed, async (url) => {
      assert.equal((await simulate(await world.newRecord(), url)).outcome, "succeeds");
    });
  });
});

describe("many readers", () => {
  test("of one address within a block cost one simulation; the next block another", async () => {
    const record = await paid();
    await through(
      (method, params, ask) => ask(method, params),
      async (url, calls) => {
        const read = openSimulations({ ...world.chain, client: clientAt(url), tokens });
        const answers = await Promise.all(Array.from({ length: 500 }, () => read(record)));
        assert.equal(new Set(answers).size, 1);
        assert.equal(calls.filter((method) => method === "eth_simulateV1").length, 1);
        assert.ok(calls.length <= 5, calls.join());
        await world.mine(1);
        await new Promise((resolve) => setTimeout(resolve, 150));
        assert.equal((await read(record)).block.number, answers[0]!.block.number + 1);
      },
    );
  });
});

/** Runs `use` with a node before the world's own that answers in a manner of its own. */
async function through(manner: Manner, use: (url: string, calls: string[]) => Promise<void>) {
  const node = await startNode(world.rpcUrl, manner);
  try {
    await use(node.rpcUrl, node.calls);
  } finally {
    await node.stop();
  }
}
