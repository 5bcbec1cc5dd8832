// Tests how `sweep` reads logs if endpoints refuse queries or return wrong answers.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { topicOf, toQuantity, transferTopic } from "executable-address/status";
import { openRecord, shrinkLogRange } from "../chain/rpc/endpoint-record.ts";
import type { Answer, Call } from "../chain/rpc/json-rpc.ts";
import type { EndpointClient, View } from "../chain/rpc/view.ts";
import { openFollowMemory, type SweepContext } from "./context.ts";
import type { Anchor } from "./payment.ts";
import { sweep } from "./sweep.ts";

const token: Hex = `0x${"70".repeat(20)}`;
const lookalike: Hex = `0x${"71".repeat(20)}`;
/** A look-alike. Transfers below 50 units are ignored. */
const lookalikes = new Map([[lookalike, 50n]]);
const wordOf = (amount: bigint): Hex => `0x${amount.toString(16).padStart(64, "0")}`;
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, "0")}`;
const blockAt = (number: number, hash = hashOf(number)): Answer => ({
  result: {
    ...{ number: toQuantity(number), hash, parentHash: hashOf(number - 1) },
    ...{ timestamp: toQuantity(number), baseFeePerGas: "0x1", gasLimit: "0x1" },
  },
});

const vault: Hex = `0x${"0a".repeat(20)}`;
const transferLog = (number: number) => ({
  ...{ address: token, data: `0x${"01".padStart(64, "0")}`, logIndex: "0x0" },
  topics: [transferTopic, topicOf(token), topicOf(vault)],
  ...{ blockNumber: toQuantity(number), blockHash: hashOf(number), transactionHash: hashOf(1) },
});

/** Returns the parts of a sweep at block 100. The newest anchor is block 10. */
function contextOf(
  answers: readonly ((call: Call) => Answer)[],
  kept: unknown[] = [],
  woken: Hex[] = [],
): SweepContext {
  const clients = answers.map((answer, index): EndpointClient => {
    const name = `${index}`;
    const ask = async (calls: readonly Call[]) => calls.map(answer);
    return { name, record: openRecord({ name, ask }), hasHead: true, ask, accuse() {} };
  });
  const [number, hash, parentHash] = [100, hashOf(100), hashOf(99)];
  const view: Partial<View> = {
    head: { number, hash, parentHash, timestamp: 100 } as View["head"],
    quorum: answers.length,
    clients: () => clients,
    read: async (calls) => calls.map(({ params }) => blockAt(Number(params[0]))),
  };
  const anchor: Anchor = { number: 10, hash: hashOf(10) };
  return {
    chain: { chainId: 1, tokens: [token], lookalikes: new Map(), paymentConfirmations: 1 },
    view: view as View,
    memory: openFollowMemory(),
    tuning: { rangeBlocksMax: 200, rangesPerPass: 1, resweepBlocks: 0, recipientsMax: 0 },
    report() {},
    store: {
      matchAddresses: async () => [],
      findCreated: async () => [],
      findRequestedTokens: async (seq) => ({ tokens: [], seq, isEnd: true }),
      findOldestCreation: async () => 0,
      findAnchor: async (before = 1000) => (before > 10 ? anchor : undefined),
      save: async (...args) => void kept.push(args),
      wake: async (addresses) => void woken.push(...addresses),
      undoAbove: async () => {},
    },
  };
}

describe("`sweep`", () => {
  const showing =
    (logs: Answer, receipts = logs, hash?: Hex) =>
    ({ method, params }: Call): Answer => {
      if (method === "eth_getLogs") return logs;
      return method === "eth_getBlockReceipts" ? receipts : blockAt(Number(params[0]), hash);
    };

  test("throws `ChainUnavailable` if a node's logs are not a list", () =>
    assert.rejects(sweep(contextOf([showing({ result: null })])), {
      name: "ChainUnavailable",
      message: "expected the logs of blocks 11 to 99 of chain 1, found no usable answer from 0",
    }));

  test("throws `ChainUnavailable` if two endpoints return different last blocks", () => {
    const other = showing({ result: [] }, undefined, hashOf(7));
    const cause = "the endpoints disagree, possibly because of a reorganization";
    return assert.rejects(sweep(contextOf([showing({ result: [] }), other])), {
      name: "ChainUnavailable",
      message: `${cause}: block 99 has the hash ${hashOf(99)} at 0, but ${hashOf(7)} at 1`,
    });
  });

  test("stops at a block for which the endpoint returns neither logs nor receipts", async () => {
    const kept: unknown[] = [];
    const refused = { error: { code: -32005, message: "too many" } };
    const context = contextOf([showing(refused, { result: null })], kept);
    for (const { record } of context.view.clients(0)) shrinkLogRange(record, 2);
    assert.deepEqual(await sweep(context), { upTo: 10, isOld: false });
    assert.deepEqual(kept, []);
  });

  for (const message of [
    "limit exceeded, too many requests for this range",
    "429 Too Many Requests",
    "query returned more than 10000 results",
    "nothing that any table of errors has",
  ]) {
    test(`halves the number of blocks per query after the error "${message}"`, async () => {
      const kept: unknown[] = [];
      const asked: number[] = [];
      const limited = (call: Call): Answer => {
        if (call.method !== "eth_getLogs") return blockAt(Number(call.params[0]));
        const { fromBlock, toBlock } = call.params[0] as { fromBlock: Hex; toBlock: Hex };
        const blocks = Number(toBlock) - Number(fromBlock) + 1;
        asked.push(blocks);
        return blocks > 10 ? { error: { code: -32000, message } } : { result: [] };
      };
      const context = contextOf([limited], kept);
      context.tuning = { ...context.tuning, rangesPerPass: 6 };
      for (let pass = 0; pass < 6; pass++) await sweep(context);
      assert.deepEqual(asked.slice(0, 5), [89, 44, 22, 11, 5]);
      assert.ok(kept.length > 0, "the blocks that it shows are read");
    });
  }

  /**
   * Returns an endpoint that allows `blocksMax` blocks per query, and adds each requested range to
   * `asked`.
   */
  const limitedTo = (blocksMax: number, asked: [number, number][], logs: unknown[] = []) => {
    return ({ method, params }: Call): Answer => {
      if (method !== "eth_getLogs") return blockAt(Number(params[0]));
      const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
      const [from, to] = [Number(fromBlock), Number(toBlock)];
      asked.push([from, to]);
      const message = `exceed maximum block range: ${blocksMax}`;
      if (to - from >= blocksMax) return { error: { code: -32701, message } };
      const isIn = (log: unknown) => {
        const number = Number((log as { blockNumber: Hex }).blockNumber);
        return number >= from && number <= to;
      };
      return { result: logs.filter(isIn) };
    };
  };

  test("limits later queries to the number of blocks that the error message allows", async () => {
    const asked: [number, number][] = [];
    const context = contextOf([limitedTo(3, asked)]);
    context.tuning = { ...context.tuning, rangesPerPass: 20 };
    await sweep(context);
    const widths = asked.map(([from, to]) => to - from + 1);
    assert.deepEqual(widths, [89, ...Array(17).fill(3), 4, 3]);
  });

  test("skips the endpoint with the smallest limit if two other endpoints suffice", async () => {
    const [narrow, wide]: [[number, number][], [number, number][]] = [[], []];
    const context = contextOf([limitedTo(3, narrow), limitedTo(1000, wide), limitedTo(1000, wide)]);
    context.view.quorum = 2;
    const [first] = context.view.clients(0);
    shrinkLogRange(first!.record, 2000, 3);
    await sweep(context);
    assert.deepEqual(narrow, []);
    assert.deepEqual(wide, [
      [11, 99],
      [11, 99],
    ]);
  });

  test("reads the newest blocks first if one query cannot cover all unread blocks", async () => {
    const [kept, woken, asked]: [unknown[], Hex[], [number, number][]] = [[], [], []];
    const log = transferLog(98);
    const context = contextOf([limitedTo(10, asked, [log])], kept, woken);
    context.store.matchAddresses = async (addresses) => [...addresses];
    shrinkLogRange(context.view.clients(0)[0]!.record, 2000, 10);
    await sweep(context);
    assert.deepEqual(asked, [
      [90, 99],
      [80, 89],
      [70, 79],
      [11, 20],
    ]);
    assert.deepEqual(woken, [vault]);
    assert.deepEqual(kept, [[{ number: 20, hash: hashOf(20) }, [], false, []]]);
    assert.equal(context.memory.tip, 99);
  });

  test("saves a payment again if a reorganization removes and restores its block", async () => {
    const kept: [Anchor, unknown[]][] = [];
    const context = contextOf([limitedTo(1000, [], [transferLog(98)])], kept);
    context.store.matchAddresses = async (addresses) => [...addresses];
    await sweep(context);
    const before = await context.store.findAnchor();
    const replaced: Anchor = { number: 99, hash: hashOf(7) };
    context.store.findAnchor = async (below = 1000) => (below > 99 ? replaced : before);
    context.memory.readHead = undefined;
    await sweep(context);
    const saved = kept.map(([, payments]) => payments.length);
    assert.deepEqual(saved, [1, 1]);
  });

  test("reads all unread blocks with one query if the endpoint's limit allows it", async () => {
    const asked: [number, number][] = [];
    await sweep(contextOf([limitedTo(1000, asked)]));
    assert.deepEqual(asked, [[11, 99]]);
  });

  /** Runs one sweep with 29 unread blocks. Returns the saved anchors. */
  const catchUp = async (rangeBlocks: number) => {
    const kept: [Anchor][] = [];
    const context = contextOf([limitedTo(200, []), limitedTo(200, [])], kept);
    context.tuning = { ...context.tuning, rangesPerPass: 10 };
    const head = { number: 40, hash: hashOf(40), parentHash: hashOf(39) };
    context.view.head = { ...context.view.head, ...head };
    for (const { record } of context.view.clients(0)) shrinkLogRange(record, 400, rangeBlocks);
    await sweep(context);
    return kept.map(([anchor]) => anchor.number);
  };

  test("asks two endpoints if one query cannot cover all unread blocks", async () => {
    assert.deepEqual(await catchUp(10), [20, 30, 39]);
  });

  test("asks only one endpoint if one query covers all unread blocks", async () => {
    assert.deepEqual(await catchUp(29), []);
  });

  test("sends no more queries after the endpoint reports a rate limit", async () => {
    let queries = 0;
    const context = contextOf([
      ({ method, params }) => {
        if (method !== "eth_getLogs") return blockAt(Number(params[0]));
        queries++;
        return { error: { code: 429, message: "Too Many Requests" } };
      },
    ]);
    shrinkLogRange(context.view.clients(0)[0]!.record, 2000, 10);
    assert.deepEqual(await sweep(context), { upTo: 10, isOld: false });
    assert.equal(queries, 1);
  });

  test("skips a block after rate-limit errors in three sweeps", async () => {
    const kept: unknown[] = [];
    const refused = { error: { code: 429, message: "Too Many Requests" } };
    const context = contextOf([showing(refused, refused)], kept);
    shrinkLogRange(context.view.clients(0)[0]!.record, 2);
    for (let sweeps = 0; sweeps < 3; sweeps++) await sweep(context);
    assert.deepEqual(kept, [[{ number: 11, hash: hashOf(11) }, [], true, []]]);
  });
});

describe("`sweep`, if the requested token has look-alikes", () => {
  const vault: Hex = `0x${"ee".repeat(20)}`;
  const transfer = (of: Hex, amount: bigint, logIndex: number) => ({
    ...{ address: of, data: wordOf(amount), logIndex: toQuantity(logIndex) },
    topics: [transferTopic, topicOf(vault), topicOf(vault)],
    ...{ blockNumber: toQuantity(50), blockHash: hashOf(50), transactionHash: hashOf(7) },
  });
  const payment = transfer(token, 25n, 0);
  type Query = { address: Hex[] };
  const known = (context: SweepContext): SweepContext => ({
    ...context,
    chain: { ...context.chain, lookalikes },
    store: { ...context.store, matchAddresses: async (addresses) => [...addresses] },
  });
  const keptIn = (kept: unknown[]) =>
    (kept as Parameters<SweepContext["store"]["save"]>[]).flatMap(([, payments]) =>
      payments.map((each) => [each.token, each.amount, each.isLookalike]),
    );

  test("uses one query for all tokens, and ignores small transfers of look-alikes", async () => {
    const kept: unknown[] = [];
    const queries: Query[] = [];
    const context = contextOf(
      [
        ({ method, params }) => {
          if (method !== "eth_getLogs") return blockAt(Number(params[0]));
          queries.push(params[0] as Query);
          const dust = Array.from({ length: 300 }, (_, at) => transfer(lookalike, 49n, at + 2));
          return { result: [payment, transfer(lookalike, 50n, 1), ...dust] };
        },
      ],
      kept,
    );
    await sweep(known(context));
    assert.deepEqual(
      queries.map(({ address }) => address),
      [[token, lookalike]],
    );
    assert.deepEqual(keptIn(kept), [
      [token, "25", false],
      [lookalike, "50", true],
    ]);
  });

  test("finds payments even if the endpoint refuses the logs of a look-alike", async () => {
    const kept: unknown[] = [];
    const queries: Query[] = [];
    const flooded = ({ method, params }: Call): Answer => {
      if (method !== "eth_getLogs") return blockAt(Number(params[0]));
      const query = params[0] as Query;
      queries.push(query);
      return query.address.includes(lookalike)
        ? { error: { code: -32005, message: "query returned more than 10000 results" } }
        : { result: [payment] };
    };
    const context = known(contextOf([flooded], kept));
    const { upTo } = await sweep(context);
    assert.equal(upTo, 99, "the range did not get smaller");
    assert.deepEqual(keptIn(kept), [[token, "25", false]]);
    queries.length = 0;
    const sweepAgain = () => {
      context.memory.readHead = undefined;
      return sweep(context);
    };
    for (let pass = 0; pass < 15; pass++) await sweepAgain();
    assert.equal(queries.length, 15);
    assert.ok(queries.every(({ address }) => !address.includes(lookalike)));
    await sweepAgain();
    assert.ok(
      queries.some(({ address }) => address.includes(lookalike)),
      "and later again",
    );
  });
});

describe("`sweep`, if one query cannot return all logs of the look-alikes", () => {
  const vault: Hex = `0x${"ee".repeat(20)}`;
  const log = {
    ...{ address: lookalike, data: wordOf(60n), logIndex: "0x0" },
    topics: [transferTopic, topicOf(vault), topicOf(vault)],
    ...{ blockNumber: toQuantity(50), blockHash: hashOf(50), transactionHash: hashOf(7) },
  };
  const tooMany = { code: -32005, message: "query returned more than 10000 results" };
  /**
   * Refuses a query if `isRefused` returns true. Otherwise, returns transfers of the look-alike.
   */
  const endpoint =
    (isRefused: (tokens: string[], blocks: number) => boolean) =>
    ({ method, params }: Call): Answer => {
      if (method !== "eth_getLogs") return blockAt(Number(params[0]));
      const { address, fromBlock, toBlock } = params[0] as Record<string, string> & {
        address: string[];
      };
      const [from, to] = [Number(fromBlock), Number(toBlock)];
      if (isRefused(address, to - from + 1)) return { error: tooMany };
      return { result: address.includes(lookalike) && from <= 50 && 50 <= to ? [log] : [] };
    };
  const sweepKept = async (answers: ((call: Call) => Answer)[]) => {
    const kept: Parameters<SweepContext["store"]["save"]>[] = [];
    const context = contextOf(answers, kept);
    context.chain = { ...context.chain, lookalikes };
    context.store.matchAddresses = async (addresses) => [...addresses];
    await sweep(context);
    return kept.flatMap(([, payments]) => payments.map(({ amount }) => amount));
  };

  test("finds a transfer by querying look-alikes separately from listed tokens", async () => {
    const isRefused = (tokens: string[], blocks: number) => blocks * tokens.length > 150;
    assert.deepEqual(await sweepKept([endpoint(isRefused)]), ["60"]);
  });

  test("finds a transfer at the second endpoint if the first refuses the query", async () => {
    const refusing = endpoint((tokens) => tokens.includes(lookalike));
    assert.deepEqual(await sweepKept([refusing, endpoint(() => false)]), ["60"]);
  });
});

test("sweep reads old logs even if one of three endpoints returns wrong block hashes", async () => {
  const honest = ({ method, params }: Call): Answer =>
    method === "eth_getLogs" ? { result: [] } : blockAt(Number(params[0]));
  const liar = (call: Call): Answer =>
    call.method === "eth_getLogs"
      ? { result: [] }
      : blockAt(Number(call.params[0]), hashOf(7_000_000 + Number(call.params[0])));
  for (const answers of [
    [liar, honest, honest],
    [honest, liar, honest],
    [honest, honest, liar],
  ]) {
    const kept: unknown[] = [];
    const context = contextOf(answers, kept);
    const accused: string[] = [];
    const clients = context.view
      .clients(0)
      .map((client) => ({ ...client, accuse: () => void accused.push(client.name) }));
    context.view.quorum = 2;
    context.view.clients = () => clients;
    context.tuning = { ...context.tuning, rangesPerPass: 30, rangeBlocksMax: 20 };
    await sweep(context);
    assert.deepEqual((kept.at(-1) as [Anchor])[0], { number: 99, hash: hashOf(99) });
    const place = `${answers.indexOf(liar)}`;
    const others = accused.filter((name) => name !== place);
    assert.deepEqual(others, []);
  }
});

describe("`sweep` with two endpoints", () => {
  const vault: Hex = `0x${"ee".repeat(20)}`;
  const logAt = (amount: bigint) => ({
    ...{ address: token, data: wordOf(amount), logIndex: "0x0" },
    topics: [transferTopic, topicOf(vault), topicOf(vault)],
    ...{ blockNumber: toQuantity(99), blockHash: hashOf(99), transactionHash: hashOf(7) },
  });
  const sweepTimes = async (shown: [() => bigint[], () => bigint[]], sweeps: number) => {
    const kept: Parameters<SweepContext["store"]["save"]>[] = [];
    const context = contextOf(
      shown.map((amounts) => ({ method, params }: Call): Answer => {
        const isLogs = method === "eth_getLogs";
        return isLogs ? { result: amounts().map(logAt) } : blockAt(Number(params[0]));
      }),
      kept,
    );
    context.store.matchAddresses = async (addresses) => [...addresses];
    const clients = context.view.clients(0);
    context.view.clients = (nth) => [...clients.slice(nth % 2), ...clients.slice(0, nth % 2)];
    context.store.findAnchor = async (before = 1000) =>
      before > 98 ? { number: 98, hash: hashOf(98) } : undefined;
    for (let at = 0; at < sweeps; at++) {
      context.memory.readHead = undefined;
      await sweep(context);
    }
    return {
      saved: kept.flatMap(([, payments]) => payments.map(({ amount }) => amount)),
      agreed: kept.flatMap(([, , , agreed]) => agreed.map(({ amount }) => amount)),
    };
  };

  test("saves a transfer that only one endpoint returns, without reporting a quorum", async () => {
    for (const shown of [
      [() => [25n], () => []],
      [() => [], () => [25n]],
      [() => [25n], () => [26n]],
    ] satisfies [() => bigint[], () => bigint[]][]) {
      const { saved, agreed } = await sweepTimes(shown, 6);
      assert.ok(saved.includes("25"));
      assert.deepEqual(agreed, []);
    }
  });

  test("reports a quorum exactly once after both endpoints have returned a transfer", async () => {
    const once = { saved: ["25"], agreed: ["25"] };
    assert.deepEqual(await sweepTimes([() => [25n], () => [25n]], 6), once);
    let sweeps = 0;
    assert.deepEqual(await sweepTimes([() => [25n], () => (++sweeps > 2 ? [25n] : [])], 9), once);
  });
});
