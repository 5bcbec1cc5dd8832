import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import type { BlockReference } from "executable-address/status";
import { openChainLoop } from "../../follow/loop.ts";
import { headMsMax, openHeads } from "./heads.ts";
import { CallsSpent } from "./json-rpc.ts";

/** A node that has one block and counts its requests. `mine` adds a block. */
function node() {
  const asked = { times: 0 };
  let number = 1;
  const block = (): BlockReference => ({
    number,
    hash: `0x${number.toString(16).padStart(64, "0")}`,
    timestamp: 1_800_000_000 + Math.floor(Date.now() / 1000),
  });
  const quantity = (value: number) => `0x${value.toString(16)}`;
  const request = async () => {
    asked.times++;
    const { hash, timestamp } = block();
    const fees = { baseFeePerGas: "0x1", gasLimit: "0x1c9c380", parentHash: hash };
    return { number: quantity(number), hash, timestamp: quantity(timestamp), ...fees };
  };
  const heads = openHeads(request, Date.now);
  return { asked, heads, block, mine: () => number++ };
}

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"] }));
afterEach(() => mock.timers.reset());

/** Advances the clock, and waits until all triggered work has finished. */
async function pass(ms: number): Promise<void> {
  for (let i = 0; i < ms; i += 50) {
    mock.timers.tick(50);
    await new Promise(setImmediate);
  }
}

/**
 * Subscribes to the chain's loop in the same way as an event stream. `stop` ends the subscription.
 * `numbers` contains the block numbers that were read.
 */
function follower({ heads }: ReturnType<typeof node>, pollMs = 1_000) {
  const numbers: number[] = [];
  const loop = openChainLoop(heads, pollMs);
  const stop = loop.subscribe(async () => {
    numbers.push((await loop.readHead()).number);
  });
  return { numbers, stop };
}

describe("a read of the newest block", () => {
  test("throws `ChainUnavailable` if the node returns no block", () =>
    assert.rejects(openHeads(async () => null, Date.now).read(), {
      name: "ChainUnavailable",
      message: "expected the newest block of the chain, found null",
    }));

  test("shares its request with all reads in the next tenth of a second", async () => {
    const { asked, heads, mine } = node();
    await Promise.all([heads.read(), heads.read(), heads.at(async ({ number }) => number)]);
    assert.equal((await heads.read()).number, 1);
    assert.equal(asked.times, 1);
    mine();
    mock.timers.tick(headMsMax);
    assert.equal((await heads.read()).number, 2);
    assert.equal(asked.times, 2);
  });

  test("is repeated after a failed call, but not after `CallsSpent`", async () => {
    const { asked, heads } = node();
    const refuse = () => Promise.reject(new CallsSpent("enough", 1));
    for (let i = 0; i < 20; i++) await assert.rejects(heads.at(refuse), CallsSpent);
    assert.equal(asked.times, 1);
    await assert.rejects(heads.at(() => Promise.reject(new Error("gone"))));
    assert.equal(asked.times, 2);
  });

  test("sends no request while the executor reports each new block", async () => {
    const chain = node();
    const { asked, heads, block, mine } = chain;
    heads.note(block());
    const { numbers, stop } = follower(chain);
    for (let number = 2; number <= 20; number++) {
      mine();
      heads.note(block());
      await new Promise(setImmediate);
      assert.equal(numbers.at(-1), number);
      assert.equal(await heads.at(async (at) => at.number), number);
      // While the block interval is unknown, the loop requests the newest block at each poll. The
      // loop makes no request if the executor has just reported a block. Therefore the test reports
      // the newest block at each poll until block 10.
      for (let poll = 0; poll < 12; poll++) {
        await pass(1_200);
        if (number < 10 || poll === 11) heads.note(block());
      }
    }
    assert.equal(asked.times, 0);
    stop();
  });

  test("sends at most 25 requests for 10 blocks that arrive regularly", async () => {
    const chain = node();
    const { asked, mine } = chain;
    const { numbers, stop } = follower(chain);
    const blocks = async (count: number) => {
      for (let i = 0; i < count; i++) {
        await pass(12_000);
        mine();
      }
    };
    await blocks(12);
    const before = asked.times;
    await blocks(10);
    assert.ok(asked.times - before <= 25, `${asked.times - before} readings of 10 blocks`);
    await pass(2_400);
    assert.equal(numbers.at(-1), 23, "within two polls");
    stop();
  });

  test("predicts blocks at intervals of ten polls, but not at intervals of two polls", async () => {
    const requestsPerBlock = async (pollMs: number) => {
      const chain = node();
      const { stop } = follower(chain, pollMs);
      const mineBlocks = async (count: number) => {
        for (let i = 0; i < count; i++) {
          await pass(2_000);
          chain.mine();
        }
      };
      await mineBlocks(12);
      const before = chain.asked.times;
      await mineBlocks(10);
      stop();
      return (chain.asked.times - before) / 10;
    };
    // A block interval of ten polls can be predicted. An interval of two polls is too short for a
    // prediction.
    assert.ok((await requestsPerBlock(200)) <= 3);
    assert.equal(await requestsPerBlock(1_000), 2);
  });

  test("asks the node for a newer block if a call at the known block fails", async () => {
    const { asked, heads, block, mine } = node();
    heads.note(block());
    mine();
    const seen: number[] = [];
    await assert.rejects(
      heads.at(async ({ number }) => {
        seen.push(number);
        throw new Error("header not found");
      }),
    );
    assert.deepEqual([seen, asked.times], [[1, 2], 2]);
  });

  test("sends no new request for a tenth of a second after a failed request", async () => {
    let [times, isAway] = [0, true];
    const request = async () => {
      times++;
      if (isAway) throw new Error("away");
      return null;
    };
    const heads = openHeads(request, Date.now);
    for (let i = 0; i < 20; i++) await assert.rejects(heads.read(), /away/);
    assert.equal(times, 1);
    isAway = false;
    mock.timers.tick(headMsMax);
    await assert.rejects(heads.read(), /expected the newest block/);
  });
});
