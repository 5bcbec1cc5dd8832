// Tests provider faults: too many logs per block, refused block ranges, and a wrong clock. Uses the
// real executor and database with simulated time.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { isLong } from "../../../../scripts/long.ts";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import { type Answer, type Call, ChainUnavailable } from "../../../chain/rpc/json-rpc.ts";
import type { ExecutorEvent } from "../../events/event.ts";
import type { Tuning } from "../../settings.ts";
import { keepRunning } from "./instance.ts";
import { longestWait } from "./liveness.ts";
import { answer } from "./node-model.ts";
import { createScheduler, type Scheduler, seededRandom } from "./scheduler.ts";
import { faultsOf, judge } from "./verdict.ts";
import { chainId, createWorld, endSeconds, tokens } from "./world.ts";

const seeds = isLong ? [1, 2, 3, 4] : [1];
const safe = { crashRate: () => 0, freezeRate: () => 0 };

/**
 * Applies an endpoint's limit, such as a maximum number of logs, to a correct answer. The function
 * can throw an error or take long.
 */
type Limit = (call: Call, honest: Answer, scheduler: Scheduler) => Answer | Promise<Answer>;

const free: Limit = (_call, honest) => honest;
const error = (message: string): Answer => ({ error: { code: -32005, message } });
const isLogs = ({ method }: Call) => method === "eth_getLogs";

const logsMax = 2000;
const atMostLogs: Limit = (call, honest) =>
  isLogs(call) && "result" in honest && (honest.result as unknown[]).length > logsMax
    ? error(`query returned more than ${logsMax} results`)
    : honest;
const withoutReceipts: Limit = (call, honest, scheduler) =>
  call.method === "eth_getBlockReceipts"
    ? error("the method eth_getBlockReceipts does not exist")
    : atMostLogs(call, honest, scheduler);

const blocksMax = 40;
const isWide = (call: Call) => {
  const { fromBlock, toBlock } = call.params[0] as { fromBlock: Hex; toBlock: Hex };
  return isLogs(call) && Number(toBlock) - Number(fromBlock) >= blocksMax;
};
const tooLarge: Limit = (call, honest) => {
  if (isLogs(call) && isWide(call)) throw new ChainUnavailable("413", { isReached: true });
  return honest;
};
const tooSlow: Limit = async (call, honest, scheduler) => {
  if (!isLogs(call) || !isWide(call)) return honest;
  await scheduler.sleep(4000);
  throw new ChainUnavailable("timed out", { isReached: true });
};

type Flood = { atSeconds: readonly number[]; logs: number };

/**
 * Runs a simulation in which each endpoint has its own limit.
 * @param startSeconds when the executor starts; it does not read the logs of earlier blocks
 */
async function historyOf(
  seed: number,
  limits: readonly Limit[],
  { flood, startSeconds = 0 }: { flood?: Flood; startSeconds?: number } = {},
  tuning: Partial<Tuning> = {},
) {
  const scheduler = createScheduler();
  const random = seededRandom(seed);
  const world = await createWorld(scheduler, random, () => false);
  const events: ExecutorEvent[] = [];
  let calls = 0;
  const endpoints = limits.map(
    (limit, index): Endpoint => ({
      name: `rpc${index}`,
      async ask(asked) {
        calls += asked.length;
        await scheduler.sleep(5 + random() * 100);
        const honest = asked.map((call) => answer(world.chain, 0, call));
        return Promise.all(asked.map((call, at) => limit(call, honest[at]!, scheduler)));
      },
    }),
  );
  for (const seconds of flood?.atSeconds ?? []) {
    scheduler.at(seconds * 1000, () => {
      for (let index = 0; index < flood!.logs; index++) {
        const to: Hex = `0x${index.toString(16).padStart(40, "f")}`;
        world.chain.add({ kind: "pay", token: tokens[0]!, to, amount: 1n, onlyOnce: false });
      }
    });
  }
  scheduler.at(startSeconds * 1000, () => {
    const report = (_: string, event: ExecutorEvent) => events.push(event);
    keepRunning("a", world, endpoints, scheduler, random, safe, report, tuning);
  });
  await scheduler.run(endSeconds * 1000);
  const faults = faultsOf(await judge(world)).filter((text) => !/were paid,/.test(text));
  await world.close();
  const callsPerBlock = calls / world.chain.blocks.length;
  const waitBlocksMax = longestWait(world, 0);
  const ownWaitBlocksMax = longestWait(world, 0, (vault) =>
    vault.chainId === chainId ? [vault.token] : [],
  );
  return { faults, waitBlocksMax, ownWaitBlocksMax, events, callsPerBlock };
}

const flood: Flood = { atSeconds: [300, 600, 1550, 1600, 1650, 1700], logs: 2100 };
/**
 * The maximum number of blocks by which the flood of transfers may delay payments. If no endpoint
 * returns a block's logs, the executor needs three polls to read the block. Polls are nine seconds
 * apart. The flood contains four such blocks within 200 s.
 */
const moreBlocksMax = 8;
const quiet = new Map<number, number>();
for (const seed of seeds) quiet.set(seed, (await historyOf(seed, [free])).waitBlocksMax);

/**
 * With this setting, log queries filter by token. Queries by recipient would not return the flood's
 * transfers, because these go to other addresses.
 */
const byTokens = { recipientsMax: 0 };

describe("the executor reads a block with more logs than a provider returns", () => {
  for (const [what, limits] of [
    ["at the only endpoint, which returns receipts", [atMostLogs]],
    ["at one of two endpoints", [free, atMostLogs]],
    ["at both endpoints, which return receipts", [atMostLogs, atMostLogs]],
    ["at both endpoints, which also return no receipts", [withoutReceipts, withoutReceipts]],
    ["at one of two endpoints, which also returns no receipts", [withoutReceipts, free]],
  ] as const) {
    test(what, async () => {
      for (const seed of seeds) {
        const { faults, waitBlocksMax } = await historyOf(seed, limits, { flood }, byTokens);
        assert.deepEqual(faults, []);
        const more = waitBlocksMax - quiet.get(seed)!;
        assert.ok(more <= moreBlocksMax, `seed ${seed}: ${more} blocks more`);
      }
    });
  }
});

test("control: a block is reported as a gap if no endpoint returns its logs", async () => {
  const { events } = await historyOf(1, [withoutReceipts], { flood }, byTokens);
  const gaps = events.filter(({ kind }) => kind === "gap");
  const blocks = new Set(gaps.map((gap) => JSON.stringify(gap)));
  assert.equal(blocks.size, flood.atSeconds.length);
});

/** Rejects all log queries. */
const withoutLogs: Limit = (call, honest) =>
  isLogs(call) || call.method === "eth_getBlockReceipts" ? error("too many requests") : honest;

describe("one of three endpoints refuses all log queries, but no block is skipped", () => {
  for (const [what, startSeconds] of [
    ["while new blocks arrive", 0],
    ["if the executor is 150 blocks behind", 1800],
  ] as const) {
    test(what, async () => {
      for (const seed of seeds) {
        const limits = [withoutLogs, free, free];
        const { faults, events } = await historyOf(seed, limits, { startSeconds });
        assert.deepEqual(faults, []);
        assert.deepEqual(events.filter(({ kind }) => kind === "gap").slice(0, 3), []);
      }
    });
  }
});

/** Returns no logs. */
const omits: Limit = (call, honest) => (isLogs(call) ? { result: [] } : honest);

describe("an executor with only one endpoint that accepts log queries", () => {
  for (const [count, limits] of [
    ["two", [withoutLogs, free]],
    ["three", [withoutLogs, withoutLogs, free]],
  ] as const) {
    test(`makes at most 25 % more calls than usual (${count} endpoints)`, async (t) => {
      for (const seed of seeds) {
        const usual = await historyOf(
          seed,
          limits.map(() => free),
        );
        const reports = await historyOf(seed, limits);
        assert.deepEqual(reports.faults, []);
        const more = reports.waitBlocksMax - usual.waitBlocksMax;
        const calls = [reports, usual].map(({ callsPerBlock }) => callsPerBlock.toFixed(2));
        t.diagnostic(
          `seed ${seed}: ${more} blocks more, ${calls[0]} calls a block for ${calls[1]}`,
        );
        assert.ok(more <= 2, `seed ${seed}: ${more} blocks more`);
        assert.ok(reports.callsPerBlock <= usual.callsPerBlock * 1.25, `seed ${seed}: ${calls}`);
      }
    });
  }

  /**
   * The maximum number of blocks until a payment is found in the address's balance. All balances
   * are read once a minute, and a block is mined every 12 s.
   */
  const scanBlocks = 60 / 12 + 2;

  test(`delays payments by at most ${scanBlocks} blocks if no log is returned`, async (t) => {
    for (const seed of seeds) {
      const { ownWaitBlocksMax, faults } = await historyOf(seed, [withoutLogs, omits]);
      t.diagnostic(`seed ${seed}: ${ownWaitBlocksMax} blocks`);
      // Money in another token or on another chain can be found only in logs.
      assert.deepEqual(
        faults.filter((fault) => !fault.startsWith("missing")),
        [],
      );
      const more = ownWaitBlocksMax - quiet.get(seed)!;
      assert.ok(more <= scanBlocks, `seed ${seed}: ${more} blocks more`);
    }
  });

  test(`control: without balance reads, payments wait over ${10 * scanBlocks} blocks`, async () => {
    const { ownWaitBlocksMax } = await historyOf(
      1,
      [withoutLogs, omits],
      {},
      { recordsPerPass: 0 },
    );
    assert.ok(ownWaitBlocksMax > 10 * scanBlocks, `${ownWaitBlocksMax} blocks`);
  });
});

test("control: the scan skips blocks if all endpoints refuse all log queries", async () => {
  const { events } = await historyOf(1, [withoutLogs, withoutLogs, withoutLogs]);
  assert.ok(events.some(({ kind }) => kind === "gap"));
});

/** Returns wrong logs: each payment has the recipient of the previous payment. */
function misplaced(): Limit {
  let before: Hex | undefined;
  return (call, honest) => {
    if (!isLogs(call) || !("result" in honest)) return honest;
    const result = (honest.result as { topics: Hex[] }[]).map((log) => {
      const [transfer, payer, to] = log.topics;
      const topics = [transfer, payer, before ?? to];
      before = to;
      return { ...log, topics };
    });
    return { result };
  };
}

test("a false log from one endpoint does not hide the true log at the same position", async () => {
  for (const seed of seeds) {
    const { faults } = await historyOf(seed, [misplaced(), free, free], {}, byTokens);
    assert.deepEqual(faults, []);
  }
});

const late: Limit = async (_call, honest, scheduler) => {
  await scheduler.sleep(4500);
  return honest;
};

test("if one of three endpoints is slow, payments wait at most two blocks longer", async (t) => {
  for (const seed of seeds) {
    const { faults, waitBlocksMax } = await historyOf(seed, [late, free, free]);
    assert.deepEqual(faults, []);
    const more = waitBlocksMax - quiet.get(seed)!;
    t.diagnostic(`seed ${seed}: ${more} blocks more`);
    assert.ok(more <= 2, `seed ${seed}: ${more} blocks more`);
  }
});

test("control: three slow endpoints delay payments by more than two blocks", async (t) => {
  const { waitBlocksMax } = await historyOf(1, [late, late, late]);
  const more = waitBlocksMax - quiet.get(1)!;
  t.diagnostic(`${more} blocks more`);
  assert.ok(more > 2, `${more} blocks more`);
});

/** Reports timestamps that are 30 days in the future, for half a minute. */
const ahead: Limit = (call, honest, scheduler) => {
  const isLying = scheduler.now() > 400_000 && scheduler.now() < 430_000;
  if (!isLying || !("result" in honest) || call.method !== "eth_getBlockByNumber") return honest;
  const block = honest.result as { timestamp: Hex } | null;
  const timestamp = `0x${(Number(block?.timestamp) + 30 * 86_400).toString(16)}`;
  return { result: block && { ...block, timestamp } };
};

describe("a node's clock that is 30 days ahead for half a minute postpones no payment", () => {
  for (const [what, limits] of [
    ["at the only endpoint", [ahead]],
    ["at one of three endpoints", [ahead, free, free]],
  ] as const) {
    test(what, async () => {
      for (const seed of seeds) {
        const { faults } = await historyOf(seed, limits);
        assert.deepEqual(faults, []);
      }
    });
  }
});

describe("an executor that is 150 blocks behind finds all payments", () => {
  for (const [what, limits] of [
    [`if all endpoints refuse more than ${blocksMax} blocks with 413`, [tooLarge, tooLarge]],
    [`if all endpoints take over 4 s for more than ${blocksMax} blocks`, [tooSlow, tooSlow]],
    [`if the only endpoint takes over 4 s for more than ${blocksMax} blocks`, [tooSlow]],
  ] as const) {
    test(what, async () => {
      for (const seed of seeds) {
        const { faults } = await historyOf(seed, limits, { startSeconds: 1800 });
        assert.deepEqual(faults, []);
      }
    });
  }
});
