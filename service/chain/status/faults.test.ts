// Tests how the service and the library read a status from faulty nodes.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import { type AddressStatus, readStatus } from "executable-address/status";
import { paymentFactoryAbi } from "executable-address-contracts";
import { getAbiItem, toEventSelector } from "viem";
import {
  forgetful,
  type Manner,
  NodeError,
  narrow,
  startNode,
  unhashed,
} from "../../testing/chain/node.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { openChainRpc } from "../rpc/chain-rpc.ts";
import { openStatusReader } from "./reader.ts";

type Read = (record: AddressRecord, rpcUrl: string) => Promise<AddressStatus>;

const theServices: Read = (record, rpcUrl) => {
  const { chainId } = record.intent;
  const rpc = openChainRpc([rpcUrl]);
  return openStatusReader({ chainId, factory: record.factory, rpc, tokens: [] }).read(record);
};
const theLibrarys: Read = (record, rpcUrl) => readStatus(record, { rpc: rpcUrl });

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.stop());

const executedTopic = toEventSelector(getAbiItem({ abi: paymentFactoryAbi, name: "Executed" }));

const plain: Manner = (method, params, ask) => ask(method, params);

async function executed() {
  const record = await world.newRecord();
  await world.pay(record.address, 130n);
  await world.execute(record);
  await world.mine(20);
  await world.recover(record, [world.token]);
  return record;
}

async function closed() {
  const record = await world.newRecord();
  await world.pay(record.address, 60n);
  await world.mineAt(record.intent.expirationTimestamp + 1);
  await world.recover(record, [world.token]);
  return record;
}

/** A node that has lost its logs and returns empty lists. */
const logless: Manner = async (method, params, ask) =>
  method === "eth_getLogs" ? [] : ask(method, params);

/**
 * Converts a Recovered log to an Executed log with equal balances before and after the execution.
 */
const asExecuted = (log: object & { topics?: Hex[]; data?: Hex }) => ({
  ...log,
  topics: [executedTopic, ...log.topics!.slice(1)],
  data: `${log.data}${log.data!.slice(2)}`,
});

const readers = { "the service": theServices, "the library": theLibrarys };
for (const [name, read] of Object.entries(readers)) {
  const readFrom = async (record: AddressRecord, manner: Manner) => {
    const node = await startNode(world.rpcUrl, manner);
    try {
      return { status: await read(record, node.rpcUrl), calls: node.calls };
    } finally {
      await node.stop();
    }
  };

  describe(`reading a status with ${name}`, () => {
    test("throws if the node does not respond", async () => {
      const record = await world.newRecord();
      await assert.rejects(read(record, "http://127.0.0.1:9"), /ChainUnavailable|StatusError/);
    });

    test("throws if the node serves another chain", async () => {
      const other = await startWorld(1);
      const record = await world.newRecord();
      await assert.rejects(read(record, other.rpcUrl), /expected a node of chain 31337, found 1/);
      await other.stop();
    });

    for (const broken of ["eth_getBlockByNumber", "eth_call", "eth_getLogs"]) {
      test(`throws if the node returns an error for ${broken}`, async () => {
        const record = await executed();
        const manner: Manner = async (method, params, ask) => {
          if (method === broken) throw new NodeError(-32000, "out of order");
          return ask(method, params);
        };
        await assert.rejects(readFrom(record, manner), /ChainUnavailable|StatusError/);
      });
    }

    test("throws if the node omits the logs of an execution", async () => {
      const record = await executed();
      await assert.rejects(readFrom(record, logless), /no Executed event/);
      await world.mineAt(record.intent.expirationTimestamp + 1);
      await assert.rejects(readFrom(record, logless), /no Executed event/);
    });

    test("throws if the node invents an execution of an address that was recovered", async () => {
      const record = await closed();
      const manner: Manner = async (method, params, ask) => {
        const answer = await ask(method, params);
        return method === "eth_getLogs" ? (answer as object[]).map(asExecuted) : answer;
      };
      await assert.rejects(readFrom(record, manner), /an Executed event/);
    });

    test("throws if the node returns the code of another contract", async () => {
      const record = await executed();
      await world.client.setCode({ address: record.address, bytecode: "0x00" });
      await assert.rejects(readFrom(record, plain), /code/);
      await assert.rejects(readFrom(record, logless), /code/);
    });

    test("throws if the node returns the logs of another address", async () => {
      const other = await executed();
      const record = await executed();
      const manner: Manner = async (method, params, ask) => {
        if (method !== "eth_getLogs") return ask(method, params);
        const text = JSON.stringify(params);
        return ask(
          method,
          JSON.parse(
            text.replaceAll(
              record.address.slice(2).toLowerCase(),
              other.address.slice(2).toLowerCase(),
            ),
          ),
        );
      };
      await assert.rejects(readFrom(record, manner), /expected only logs that match the filter/);
    });

    test("throws if the node returns no data for `balanceOf`", async () => {
      const record = await world.newRecord({ token: "0x00000000000000000000000000000000000abcde" });
      await assert.rejects(readFrom(record, plain), /balanceOf/);
    });

    test("throws if the node reorganizes its chain during every attempt", async () => {
      const record = await executed();
      const manner: Manner = async (method, params, ask) => {
        const answer = await ask(method, params);
        if (method === "eth_getLogs") await world.replaceHead();
        return answer;
      };
      const message = /is no longer on chain 31337|the chain reorganized during 3 attempts/;
      await assert.rejects(readFrom(record, manner), message);
    });
  });

  describe(`reading a status with ${name}`, () => {
    test("succeeds if the node does not support blocks by hash", async () => {
      const record = await executed();
      const { status } = await readFrom(record, unhashed);
      assert.equal(status.state, "executed");
    });

    test("succeeds if the node limits log queries to 10 blocks and keeps old state", async () => {
      const record = await executed();
      const { status } = await readFrom(record, narrow(10));
      assert.equal(status.execution?.held, "130");
      assert.equal(status.recoveries[0]?.amount, "30");
    });

    test("succeeds if the node limits log queries to 40 blocks and lacks old state", async () => {
      const record = await executed();
      const { status } = await readFrom(record, forgetful(narrow(40)));
      assert.equal(status.execution?.held, "130");
      assert.equal(status.recoveries[0]?.amount, "30");
    });

    test("returns `recovered` without `recoveries` if the node omits the logs", async () => {
      const record = await closed();
      const { status } = await readFrom(record, logless);
      assert.equal(status.state, "recovered");
      assert.deepEqual([status.execution, status.recoveries], [null, []]);
    });

    test("succeeds if the node reorganizes its chain during the read", async () => {
      const record = await executed();
      const { calls } = await readFrom(record, plain);
      for (let at = 0; at < calls.length; at++) {
        const changed = await world.newRecord();
        await world.pay(changed.address, 130n);
        await world.execute(changed);
        let count = 0;
        const { status } = await readFrom(changed, async (method, params, ask) => {
          if (count++ === at) await world.reorg(2);
          return ask(method, params);
        });
        // The status's `block` depends on when the reorganization occurs, so it is checked
        // separately.
        const { block, ...rest } = status;
        const { block: _, ...expected } = await read(changed, world.rpcUrl);
        assert.deepEqual(rest, expected, `before call ${at}`);
        assert.equal(status.state, "unfunded");
        const blockNumber = BigInt(block.number);
        assert.equal(block.hash, (await world.client.getBlock({ blockNumber })).hash);
      }
    });
  });
}

describe("a status read by the service", () => {
  const word = (value: number) => value.toString(16).padStart(64, "0");
  const answering =
    (change: (answer: string) => string): Manner =>
    async (method, params, ask) => {
      const answer = await ask(method, params);
      return method === "eth_call" ? change(answer as string) : answer;
    };
  const refusing: Manner = async (method, params, ask) => {
    if (method === "eth_getLogs") throw new NodeError(-32000, "out of order");
    return ask(method, params);
  };
  const faults: [string, Manner, RegExp][] = [
    [
      "of too few bytes",
      answering((answer) => answer.slice(0, -2)),
      /^chain \d+: expected 256 bytes from the status probe, found 255/,
    ],
    [
      "with the time of another block",
      answering((answer) => `${answer.slice(0, 66)}${word(7)}${answer.slice(130)}`),
      /^chain \d+: expected a block with the timestamp \d+, found 7$/,
    ],
    [
      "without the logs of any block",
      refusing,
      /^no endpoint returns the logs of block \d+: .*out of order/,
    ],
  ];
  for (const [name, manner, message] of faults) {
    test(`throws ChainUnavailable for a response ${name}`, async () => {
      const record = await executed();
      const node = await startNode(world.rpcUrl, manner);
      await assert.rejects(theServices(record, node.rpcUrl), { name: "ChainUnavailable", message });
      await node.stop();
    });
  }

  test("the read continues in the next attempt if the node's limits interrupt it", async () => {
    const record = await executed();
    await world.mine(100);
    const node = await startNode(world.rpcUrl, forgetful(narrow(2)));
    const reader = openStatusReader({ ...world.chain, rpc: openChainRpc([node.rpcUrl]) });
    const failures: string[] = [];
    let status: AddressStatus | undefined;
    while (!status && failures.length < 50) {
      status = await reader.read(record).catch((error) => void failures.push(error.message));
    }
    assert.equal(status?.execution?.held, "130");
    assert.ok(failures.length > 1);
    assert.match(
      failures[0]!,
      /the logs of 0x[0-9a-fA-F]{40} are incomplete: \d+ blocks were not searched yet/,
    );
    await node.stop();
  });
});

describe("a failed status read", () => {
  test("leaves no events in the cache, so that the next read finds the execution", async () => {
    const record = await executed();
    await world.mine(200);
    let isLogless = true;
    const node = await startNode(world.rpcUrl, (...call) => (isLogless ? logless : plain)(...call));
    const reader = openStatusReader({ ...world.chain, rpc: openChainRpc([node.rpcUrl]) });
    await assert.rejects(reader.read(record), /no Executed event/);
    isLogless = false;
    assert.equal((await reader.read(record)).execution?.held, "130");
    await node.stop();
  });
});

describe("readStatus", () => {
  test("throws `rpc_inconsistent` if `previous` omits an execution", async () => {
    const record = await executed();
    const previous = await readStatus(record, { rpc: world.rpcUrl });
    const options = { rpc: world.rpcUrl, previous: { ...previous, execution: null } };
    await assert.rejects(readStatus(record, options), { code: "rpc_inconsistent" });
  });

  test("requests only logs that are newer than the previous status", async () => {
    const record = await executed();
    const node = await startNode(world.rpcUrl, narrow(5));
    const previous = await readStatus(record, { rpc: world.rpcUrl });
    await world.mine(3);
    const status = await readStatus(record, { rpc: node.rpcUrl, previous });
    assert.equal(node.calls.filter((method) => method === "eth_getLogs").length, 1);
    assert.deepEqual(status, { ...previous, block: status.block });
    await node.stop();
  });

  test("reads at the requested block if the chain contains it", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 1n);
    const then = await readStatus(record, { rpc: world.rpcUrl });
    await world.pay(record.address, 100n);
    const again = await readStatus(record, { rpc: world.rpcUrl, blockHash: then.block.hash });
    assert.deepEqual(again, then);
    const blockHash = `0x${"ab".repeat(32)}` as const;
    await assert.rejects(readStatus(record, { rpc: world.rpcUrl, blockHash }), {
      name: "StatusError",
      code: "block_unknown",
    });
  });

  test("throws `evidence_unavailable` if the node refuses logs of a single block", async () => {
    const record = await executed();
    const node = await startNode(world.rpcUrl, forgetful(narrow(0)));
    await assert.rejects(readStatus(record, { rpc: node.rpcUrl }), {
      code: "evidence_unavailable",
      message:
        /^past events: the node refuses a query for the logs of block \d+: 1 blocks are over 0$/,
    });
    await node.stop();
  });
});
