import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { encodeAbiParameters, encodeEventTopics } from "viem";
import type { NetworkEvent } from "../../chain/rpc/endpoint-record.ts";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { explainRevert } from "../../chain/simulation/revert.ts";
import { openCannedNetwork } from "../../testing/chain/canned-network.ts";
import { decodeOutcomes, divideGas, parseReceipt, type Receipt, readGasUsed } from "./receipt.ts";

const factory: Hex = `0x${"fa".repeat(20)}`;
const vault: Hex = `0x${"0a".repeat(20)}`;
const token: Hex = `0x${"0b".repeat(20)}`;

const log = (address: Hex) => ({
  address,
  topics: encodeEventTopics({
    abi: paymentFactoryAbi,
    eventName: "Executed",
    args: { vault, token },
  }) as Hex[],
  data: encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], [100n, 40n]),
});
const receipt = (...logs: Receipt["logs"]): Receipt => ({
  transactionHash: "0x01",
  blockHash: "0x02",
  blockNumber: 3,
  succeeded: true,
  gasUsed: 1,
  paid: 1n,
  logs,
});

const sender: Hex = `0x${"0e".repeat(20)}`;
const sent = { sender, vaults: [`0x${"0c".repeat(20)}` as Hex, vault] };

const itemFailed = (caller: Hex, index: bigint) => ({
  address: factory,
  topics: encodeEventTopics({
    abi: paymentFactoryAbi,
    eventName: "ItemFailed",
    args: { caller, index },
  }) as Hex[],
  data: encodeAbiParameters([{ type: "bytes" }], ["0x"]),
});

describe("parseReceipt", () => {
  test("returns undefined for null, and throws `ChainUnavailable` for an invalid receipt", () => {
    const name = "ChainUnavailable";
    assert.throws(() => parseReceipt("0x"), { name, message: 'expected a receipt, found "0x"' });
    assert.throws(() => parseReceipt({ logs: 1 }), {
      name,
      message: "expected logs of a receipt, found 1",
    });
    assert.equal(parseReceipt(null), undefined);
  });
});

describe("decodeOutcomes", () => {
  test("ignores `ItemFailed` events that have another caller or an unknown index", () => {
    assert.deepEqual(decodeOutcomes(receipt(itemFailed(token, 1n)), factory, sent), []);
    assert.deepEqual(decodeOutcomes(receipt(itemFailed(sender, 2n)), factory, sent), []);
  });

  test("attributes an item's failure to the item's address", () => {
    const [outcome] = decodeOutcomes(receipt(itemFailed(sender, 1n)), factory, sent);
    assert.deepEqual(outcome, { kind: "failed", vault, reason: explainRevert("0x") });
  });

  test("ignores events of other contracts", () => {
    assert.deepEqual(decodeOutcomes(receipt(log(token)), factory, sent), []);
  });

  test("decodes the factory's events with their measured amounts", () => {
    const [outcome] = decodeOutcomes(receipt(log(factory)), factory, sent);
    assert.deepEqual(outcome, { kind: "executed", vault, token, amount: 100n, left: 40n });
  });
});

const hash = (byte: string): Hex => `0x${byte.repeat(32)}`;
const vaults: Hex[] = [`0x${"0a".repeat(20)}`, `0x${"0b".repeat(20)}`];
const mined = { transactionHash: hash("01"), gasUsed: 100_000 };

/**
 * An endpoint's response to a trace request: the gas of each item, "slow" for a timeout, or
 * undefined if the method is not supported.
 */
type TraceResponse = number[] | "slow" | undefined;

/** @param responses the current response of each endpoint; tests can change this array */
async function passOver(responses: readonly TraceResponse[]) {
  let nowMs = 0;
  const asked: string[] = [];
  const events: NetworkEvent[] = [];
  const clock = () => nowMs;
  const answer = (place: number, { method }: Call): Answer => {
    asked.push(method);
    const response = responses[place];
    if (response === "slow") throw new Error("no answer in time");
    if (!response) return { error: { code: -32601, message: "the method does not exist" } };
    return { result: { calls: response.map((gas) => ({ gasUsed: `0x${gas.toString(16)}` })) } };
  };
  const report = (event: NetworkEvent) => events.push(event);
  const network = openCannedNetwork(responses.length, answer, { report, clock });
  const view = await network.openView();
  const memory = { traces: { untracedMs: Number.NEGATIVE_INFINITY } };
  return {
    asked,
    events,
    wait: (ms: number) => {
      nowMs += ms;
    },
    read: async () => {
      const taken = await readGasUsed({ parts: { clock }, memory, view }, mined, vaults);
      return taken && vaults.map((vault) => taken.get(vault));
    },
  };
}

describe("traces from three endpoints", () => {
  test("are not used if only one endpoint returns a trace", async () => {
    const { read } = await passOver([[1, 79_999], undefined, undefined]);
    assert.equal(await read(), undefined);
  });

  test("are used if two are equal, and the endpoint of the third trace is reported", async () => {
    const { read, events } = await passOver([
      [1, 79_999],
      [30_000, 50_000],
      [30_000, 50_000],
    ]);
    assert.deepEqual(await read(), [30_000, 50_000]);
    assert.deepEqual(events, [
      { kind: "rpc_differs", rpc: "rpc0", method: "debug_traceTransaction" },
    ]);
  });

  test("are not used if one endpoint returns none and the other two traces differ", async () => {
    const { read, asked } = await passOver([[1, 79_999], [30_000, 50_000], undefined]);
    assert.equal(await read(), undefined);
    await read();
    assert.equal(asked.length, 6, "nodes are asked to trace the next transaction");
  });
});

test("the only endpoint's trace is used unless its gas exceeds the receipt's gas", async () => {
  const only = await passOver([[30_000, 50_000]]);
  assert.deepEqual(await only.read(), [30_000, 50_000]);
  const more = await passOver([[30_000, 100_000]]);
  assert.equal(await more.read(), undefined);
});

test("a trace without a call for each item is not used", async () => {
  const { read, asked } = await passOver([[30_000], [30_000]]);
  assert.equal(await read(), undefined);
  await read();
  assert.equal(asked.length, 4, "nodes are still asked for traces");
});

describe("a trace that too few endpoints return", () => {
  test("is requested again after an hour", async () => {
    const responses: TraceResponse[] = [undefined, undefined];
    const { read, asked, wait } = await passOver(responses);
    assert.equal(await read(), undefined);
    responses.fill([30_000, 50_000]);
    wait(3_599_999);
    assert.equal(await read(), undefined);
    assert.equal(asked.length, 2);
    wait(1);
    assert.deepEqual(await read(), [30_000, 50_000]);
  });

  test("is not reported as a failure if the endpoints are slow", async () => {
    const { read, events } = await passOver(["slow", "slow"]);
    assert.equal(await read(), undefined);
    assert.deepEqual(events, []);
  });
});

describe("divideGas for a batch that has no trace", () => {
  const [ran, failed] = vaults as [Hex, Hex];
  const shares = [
    { address: ran, gas: 137_500 },
    { address: failed, gas: 137_500 },
  ];

  test("charges a successful item its estimated gas, and a failed item the remaining gas", () => {
    const taken = divideGas(shares, 230_000, new Set([failed]));
    assert.deepEqual([taken?.get(ran), taken?.get(failed)], [100_000, 130_000]);
  });

  test("splits the gas in proportion to the estimates if less gas was used", () => {
    const taken = divideGas(shares, 120_000, new Set([failed]));
    assert.deepEqual([taken?.get(ran), taken?.get(failed)], [60_000, 60_000]);
  });

  test("returns undefined if all items succeeded or all items failed", () => {
    assert.equal(divideGas(shares, 230_000, new Set()), undefined);
    assert.equal(divideGas(shares, 230_000, new Set(vaults)), undefined);
  });
});
