// Tests log queries by token and by recipient, on a chain with payments between other addresses.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, toHex } from "executable-address";
import { isLong } from "../../../../scripts/long.ts";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../../chain/rpc/json-rpc.ts";
import type { Tuning } from "../../settings.ts";
import { keepRunning } from "./instance.ts";
import { answer } from "./node-model.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import { faultsOf, judge } from "./verdict.ts";
import { createWorld, endSeconds, startSeconds, tokens, type World } from "./world.ts";

const seeds = isLong ? [1, 2, 3, 4, 5, 6, 7, 8] : [1];
const safe = { crashRate: () => 0, freezeRate: () => 0 };

type Filter = { fromBlock: Hex; toBlock: Hex; topics: [Hex, null?, Hex[]?] };
/** The number of log queries of each form. */
type QueryCounts = { byRecipients: number; byTokens: number };
/** Changes an endpoint's answer to a log query. */
type Logs = (filter: Filter, honest: Answer, world: World) => Answer | Promise<Answer>;
type Given = { strangers?: number; tuning?: Partial<Tuning>; logs?: Logs; isLate?: boolean };

/**
 * Runs a simulation with two endpoints.
 *
 * @param strangers the number of transfers to other addresses per 12 s
 */
async function historyOf(
  seed: number,
  { strangers = 40, tuning = {}, logs = (_, honest) => honest, isLate = false }: Given,
) {
  const scheduler = createScheduler();
  // Compares two simulations. One queries logs by token, and the other by recipient. Both
  // simulations need the same payments and blocks. Therefore, payments and blocks have their own
  // stream of random numbers.
  const world = await createWorld(scheduler, seededRandom(seed), () => false, { isPlain: true });
  const random = seededRandom(seed + 1_000_000);
  const queries: QueryCounts = { byRecipients: 0, byTokens: 0 };
  const late = isLate ? await takeRecords(world) : undefined;
  const answered = async (call: Call) => {
    const honest = answer(world.chain, 0, call);
    if (call.method !== "eth_getLogs") return honest;
    const filter = call.params[0] as Filter;
    queries[filter.topics[2] ? "byRecipients" : "byTokens"]++;
    await late?.(filter);
    return logs(filter, honest, world);
  };
  const endpoints = ["a", "b"].map(
    (name): Endpoint => ({
      name,
      async ask(calls) {
        await scheduler.sleep(5 + random() * 100);
        return Promise.all(calls.map(answered));
      },
    }),
  );
  for (let seconds = 6; seconds < endSeconds; seconds += 12) {
    scheduler.at(seconds * 1000, () => {
      for (let index = 0; index < strangers; index++) {
        const to: Hex = `0x${index.toString(16).padStart(40, "f")}`;
        world.chain.add({ kind: "pay", token: tokens[0]!, to, amount: 1n, onlyOnce: false });
      }
    });
  }
  keepRunning("a", world, endpoints, scheduler, random, safe, () => {}, tuning);
  await scheduler.run(endSeconds * 1000);
  const rows = await world.db.selectFrom("payments").selectAll().execute();
  // Ignores payments to addresses that had no record yet. The executor saves these payments only if
  // it reads their logs again after the record's creation.
  const paid = rows
    .filter(({ address, block_number }) => {
      const since = startSeconds + (world.knownAt.get(toHex(address)) ?? 0);
      return world.chain.blocks[block_number]!.timestamp >= since;
    })
    .map((row) => `${toHex(row.address)} ${row.block_number} ${row.log_index}`);
  // Ignores the check that compares the total paid with the sum of the balances. This check always
  // fails here, because it does not include the balances of strangers' addresses.
  const faults = faultsOf(await judge(world)).filter((text) => !/were paid,/.test(text));
  await world.close();
  return { faults, queries, paid: paid.sort() };
}

/**
 * Removes all records. Returns a function that restores the records of all addresses that were paid
 * in the blocks of a query.
 */
async function takeRecords({ db, chain }: World) {
  const rows = await db.selectFrom("records").selectAll().execute();
  await db.deleteFrom("records").execute();
  const taken = new Map(rows.map((row) => [toHex(row.address), row]));
  return async ({ fromBlock, toBlock }: Filter) => {
    for (const { topics } of chain.blocks
      .slice(Number(fromBlock), Number(toBlock) + 1)
      .flatMap((block) => block.logs)) {
      const address: Hex = `0x${topics[2]?.slice(26)}`;
      const row = taken.get(address);
      if (!row || !taken.delete(address)) continue;
      const { seq: _, ...record } = row;
      await db.insertInto("records").values(record).execute();
    }
  };
}

const byTokens = { recipientsMax: 0 };

describe("a payment is found if its address is created while logs are queried", () => {
  for (const [what, tuning] of [
    ["by recipients", {}],
    ["by tokens", byTokens],
  ] as const) {
    test(what, async () => {
      for (const seed of seeds) {
        const { faults } = await historyOf(seed, { tuning, isLate: true });
        assert.deepEqual(faults, []);
      }
    });
  }

  test("control: a payment is missed if logs are queried once and no balance is read", async () => {
    const tuning = { recordsPerPass: 0, resweepBlocks: 0 };
    const { faults } = await historyOf(1, { tuning, isLate: true });
    assert.ok(faults.some((fault) => /^missing/.test(fault)));
  });
});

describe("all payments are found if each endpoint refuses log queries", () => {
  const error = { error: { code: -32005, message: "too much" } };
  for (const [what, isRefused] of [
    ["by recipients", ({ topics }: Filter) => topics[2] !== undefined],
    ["by tokens", ({ topics }: Filter) => topics[2] === undefined],
  ] as const) {
    test(what, async () => {
      const logs: Logs = (filter, honest) => (isRefused(filter) ? error : honest);
      for (const seed of seeds) {
        for (const strangers of [0, 40]) {
          const { faults, queries } = await historyOf(seed, { logs, strangers });
          assert.deepEqual(faults, []);
          const refused = what === "by tokens" ? queries.byTokens : queries.byRecipients;
          assert.ok(refused < 20, `${refused} were refused`);
        }
      }
    });
  }
});

describe("the log queries of an executor", () => {
  test("select logs by recipient on a busy chain", async () => {
    for (const seed of seeds) {
      const few = await historyOf(seed, {});
      const all = await historyOf(seed, { tuning: byTokens });
      assert.deepEqual([few.faults, all.faults], [[], []]);
      assert.deepEqual(few.paid, all.paid);
      assert.ok(few.paid.length > 0);
      assert.ok(few.queries.byRecipients > 20 * few.queries.byTokens, JSON.stringify(few.queries));
      assert.equal(all.queries.byRecipients, 0);
    }
  });

  test("select logs by token on a quiet chain", async () => {
    const { faults, queries } = await historyOf(1, { strangers: 0 });
    assert.deepEqual(faults, []);
    assert.ok(queries.byTokens > 0, JSON.stringify(queries));
  });

  test("select logs by token if there are more than `recipientsMax` addresses", async () => {
    const { faults, queries } = await historyOf(1, { tuning: { recipientsMax: 4 } });
    assert.deepEqual(faults, []);
    assert.ok(queries.byRecipients < 60 && queries.byTokens > 200, JSON.stringify(queries));
  });
});
