// Tests how a status is read, in the cases that need no chain. The tests in service/chain/status
// use random histories on a real chain. At every step, they compare the library's status with the
// service and the contract.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { paymentFactoryAbi } from "executable-address-contracts";
import { getAbiItem, toEventSelector } from "viem";
import { vaultCodeBytes } from "../deployment.ts";
import type { Hex } from "../intent/intent.ts";
import { makeRecord } from "../record.ts";
import { readEvents } from "./events.ts";
import { executedTopic, parseVaultEvents, recoveredTopic } from "./factory-events.ts";
import { isOpenAt, isOpenState, type Past, stateOf, statusOf } from "./rule.ts";
import * as status from "./status.ts";
import { addEvents, httpRpc, noPast, readStatus } from "./status.ts";

const record = makeRecord({
  token: "0x00000000000000000000000000000000000abcde",
  amount: "1",
  calls: [
    {
      target: "0x00000000000000000000000000000000000abcde",
      function: "f(uint256 a)",
      args: ["1"],
    },
  ],
  expirationTimestamp: 2_000_000_000,
  recovery: "0x00000000000000000000000000000000000fffff",
  salt: `0x${"00".repeat(32)}`,
  chainId: 1,
});

/** A node whose HTTP response is always the same. */
async function withNode(code: number, body: string, use: (url: string) => Promise<void>) {
  const server = createServer((_, response) => response.writeHead(code).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.closeAllConnections();
  server.close();
}

const answers: [string, number, string, string][] = [
  ["rpc_unavailable", 500, "oops", "HTTP 500"],
  ["rpc_unavailable", 200, "<html>", "expected a result or an error, found neither"],
  ["rpc_unavailable", 200, "{}", "expected a result or an error, found neither"],
  ["rpc_unavailable", 429, '{"error":{"code":-32005,"message":"slow down"}}', "slow down"],
  ["rpc_inconsistent", 200, '{"result":1}', "chain id: expected a hex quantity, found 1"],
  ["rpc_inconsistent", 200, '{"result":"0x"}', "chain id: expected a hex quantity"],
  [
    "rpc_inconsistent",
    200,
    `{"result":"0x${"f".repeat(20)}"}`,
    "chain id: expected at most 2^53 - 1",
  ],
  ["wrong_chain", 200, '{"result":"0x2"}', "expected a node of chain 1, found 2"],
];

/** A node's responses about an empty address. Each test sets the response about the block. */
const ofNothing: Record<string, () => unknown> = {
  eth_chainId: () => "0x1",
  eth_getCode: () => "0x",
  eth_getBalance: () => "0x0",
  eth_call: () => `0x${"00".repeat(32)}`,
};

describe("readStatus", () => {
  for (const [code, httpStatus, body, message] of answers) {
    test(`readStatus throws ${code} for a ${httpStatus} response with ${body.slice(0, 40)}`, () =>
      withNode(httpStatus, body, (rpc) =>
        assert.rejects(readStatus(record, { rpc }), (error: status.StatusError) => {
          assert.deepEqual([error.name, error.code], ["StatusError", code]);
          assert.ok(error.message.includes(message), error.message);
          return true;
        }),
      ));
  }

  test("readStatus throws if the chain reorganizes during each of three attempts", async () => {
    let blocks = 0;
    const block = () => {
      const hash = `0x${(++blocks).toString(16).padStart(64, "0")}`;
      return { number: "0x1", hash, timestamp: "0x1" };
    };
    const answers: typeof ofNothing = { ...ofNothing, eth_getBlockByNumber: block };
    const rpc: status.Rpc = async (method) => answers[method]!();
    await assert.rejects(readStatus(record, { rpc }), {
      code: "reorganized",
      message: "the chain reorganized during 3 attempts",
    });
    answers.eth_getBlockByNumber = () => null;
    await assert.rejects(readStatus(record, { rpc }), {
      code: "block_unknown",
      message: "expected the block latest from the node, found none",
    });
  });

  test("readStatus throws if the token's `balanceOf` returns too few bytes", async () => {
    const block = { number: "0x1", hash: `0x${"1".repeat(64)}`, timestamp: "0x1" };
    const answers: typeof ofNothing = {
      ...ofNothing,
      eth_getBlockByNumber: () => block,
      eth_call: () => `0x${"00".repeat(31)}`,
    };
    await assert.rejects(readStatus(record, { rpc: async (method) => answers[method]!() }), {
      ...{ name: "StatusError", code: "token_unreadable" },
      message: `${record.intent.token} does not answer balanceOf`,
    });
  });

  test("readStatus throws if the node does not respond in time", async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const rpc = httpRpc(url, { timeoutMs: 20 });
    await assert.rejects(readStatus(record, { rpc }), { code: "rpc_unavailable" });
    server.closeAllConnections();
    server.close();
  });
});

describe("httpRpc with a node that closes the connection", () => {
  /** Closes the first connections without a response, then returns `0x1`. */
  async function startClosing(closedMax: number) {
    let requests = 0;
    const server = createServer((request, response) => {
      requests += 1;
      if (requests <= closedMax) request.socket.destroy();
      else response.end('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      rpc: httpRpc(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
      countRequests: () => requests,
      stop: () => {
        server.closeAllConnections();
        server.close();
      },
    };
  }

  for (const method of ["eth_sendRawTransaction", "eth_sendTransaction"])
    test(`httpRpc does not retry ${method}`, async () => {
      const node = await startClosing(1);
      await assert.rejects(node.rpc(method, ["0x"]));
      assert.equal(node.countRequests(), 1);
      node.stop();
    });

  test("httpRpc retries a read request once", async () => {
    const [once, twice] = [await startClosing(1), await startClosing(2)];
    assert.equal(await once.rpc("eth_blockNumber", []), "0x1");
    assert.equal(once.countRequests(), 2);
    await assert.rejects(twice.rpc("eth_blockNumber", []));
    assert.equal(twice.countRequests(), 2);
    once.stop();
    twice.stop();
  });
});

describe("executable-address/status", () => {
  test("the library's event topics match the factory's ABI", () => {
    const abi = paymentFactoryAbi;
    assert.equal(toEventSelector(getAbiItem({ abi, name: "Executed" })), executedTopic);
    assert.equal(toEventSelector(getAbiItem({ abi, name: "Recovered" })), recoveredTopic);
  });
});

describe("statusOf", () => {
  const place = { transactionHash: `0x${"1".repeat(64)}`, blockNumber: 7 } as const;
  const execution: Past["execution"] = {
    ...place,
    blockHash: place.transactionHash,
    logIndex: 0,
    held: "2",
    left: "1",
  };
  const unlikely: Past = { execution, recoveries: [] };
  const { executed, closed } = vaultCodeBytes;
  const { address } = record;
  const expiry = record.intent.expirationTimestamp;
  for (const [why, codeBytes, past, message] of [
    [
      "an execution without its event",
      executed,
      noPast,
      `${address}: its code shows executed, but the node reports no Executed event`,
    ],
    [
      "an event without its execution",
      0,
      unlikely,
      `${address}: its code shows unfunded, but the node reports an Executed event`,
    ],
    [
      "a vault closed in time",
      closed,
      noPast,
      `${address}: the vault is closed, but the block time ${expiry} is not after the expiry ` +
        expiry,
    ],
  ] as const)
    test(`\`rpc_inconsistent\`: ${why}`, () => {
      const { expirationTimestamp: timestamp } = record.intent;
      const block = { number: 8, hash: place.transactionHash, timestamp };
      const holding = { codeBytes, native: 0n, balance: 0n };
      assert.throws(() => statusOf(record, block, holding, past), {
        ...{ code: "rpc_inconsistent", message },
      });
    });
});

describe("parseVaultEvents", () => {
  test("parseVaultEvents throws if the response is not a list", () => {
    const search = { factory: record.factory, vaults: [record.address], from: 1, to: 2 };
    assert.throws(() => parseVaultEvents(null, search), {
      ...{ code: "rpc_inconsistent", message: "eth_getLogs: expected a list, found null" },
    });
  });
});

describe("readEvents", () => {
  test("readEvents throws if 96 log requests do not cover every block", async () => {
    const rpc: status.Rpc = async (method, params) => {
      if (method !== "eth_getLogs") throw new status.RpcError(-32000, "no old state");
      const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
      if (Number(toBlock) - Number(fromBlock) < 10) return [];
      throw new status.RpcError(-32005, "too wide");
    };
    const search = { factory: record.factory, vault: record.address, from: 0, to: 1_000_000 };
    await assert.rejects(readEvents(rpc, search), {
      code: "evidence_unavailable",
      message: "past events: 96 requests searched only blocks 1000000 to 999245: too wide",
    });
  });
});

describe("addEvents", () => {
  const executed = {
    name: "Executed",
    vault: record.address,
    token: record.intent.token.toLowerCase() as Hex,
    values: [2n, 1n],
    transactionHash: `0x${"1".repeat(64)}`,
    blockNumber: 7,
    blockHash: `0x${"2".repeat(64)}`,
    logIndex: 0,
  } as const satisfies Parameters<typeof addEvents>[2][number];
  const message = (text: string) => ({ code: "rpc_inconsistent", message: text });

  test("addEvents throws if an execution event and the record name different tokens", () => {
    const other: Hex = `0x${"9".repeat(40)}`;
    assert.throws(
      () => addEvents(record, noPast, [{ ...executed, token: other }]),
      message(
        `${record.address}: expected an execution with token ${record.intent.token}, ` +
          `found ${other}`,
      ),
    );
  });

  test("addEvents throws if an execution follows another execution or a recovery", () => {
    const refusal = message(
      `${record.address}: expected no execution in block 8, because the vault was already ` +
        "executed or recovered",
    );
    const later = { ...executed, blockNumber: 8 };
    for (const name of ["Executed", "Recovered"] as const) {
      const past = addEvents(record, noPast, [{ ...executed, name }]);
      assert.throws(() => addEvents(record, past, [later]), refusal);
    }
  });
});

test("isOpenAt returns true for open states, and false for other states", () => {
  const { expirationTimestamp } = record.intent;
  const { closed, executed } = vaultCodeBytes;
  for (const codeBytes of [0, executed, closed]) {
    for (const timestamp of [-1, 0, 1].map((later) => expirationTimestamp + later)) {
      // A vault cannot be closed before the expiry.
      if (codeBytes === closed && timestamp <= expirationTimestamp) continue;
      for (const balance of [0n, 1n]) {
        const block = { number: 1, hash: `0x${"11".repeat(32)}`, timestamp } as const;
        const state = stateOf(record, block, { codeBytes, balance, native: 0n });
        const found = isOpenAt(record.intent, { chainId: 1, timestamp }, codeBytes > 0);
        assert.equal(found, isOpenState(state), `${state} at ${timestamp}`);
      }
    }
  }
  assert.equal(isOpenAt(record.intent, { chainId: 2, timestamp: 0 }, false), false);
});
