// Measures the cost of an endpoint that returns wrong answers, next to two correct endpoints:
// wasted wei, and additional blocks that payments wait. The same simulation without wrong answers
// serves as a comparison.

import type { Hex } from "executable-address";
import { type Block, type ChainModel, paidFor } from "./chain-model.ts";
import { gasOfItem, parseCalldata, wordOf } from "./factory-model.ts";
import { keepRunning } from "./instance.ts";
import { endpointOf, type Lie, lieOf } from "./lie.ts";
import { waitsOf } from "./liveness.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import { faultsOf, judge } from "./verdict.ts";
import { createWorld, endSeconds, senders } from "./world.ts";

/**
 * `wastedWei` is the cost of useless transactions, plus overpaid fees of other transactions.
 * `waits` contains the number of blocks that each address waited.
 */
type Price = { wastedWei: bigint; waits: ReadonlyMap<Hex, number>; faults: string[] };

/** The priority fee per gas that correct endpoints suggest, in wei. */
const fairPriority = 2n;

/**
 * Returns the wei wasted in a block: the cost of useless transactions, plus the part of other fees
 * that exceeds the suggestion of correct endpoints.
 */
function wastedIn({ mined, baseFee, timestamp }: Block, { byTerms, setting }: ChainModel): bigint {
  let wasted = 0n;
  for (const entry of mined) {
    const { transaction, logs, dataFee } = entry;
    const items = transaction.to === setting.factory ? parseCalldata(transaction.data).items : [];
    const logged = new Set(logs.map(({ topics }) => topics[1]));
    const paying = items
      .map((item) => ({ ...item, vault: byTerms.get(item.terms)! }))
      .filter(({ name, vault: { address, expirationSeconds } }) => {
        // Even with correct endpoints, an execution may be sent in time but mined too late.
        const isLate = name === "execute" && expirationSeconds < timestamp;
        return isLate || logged.has(wordOf(address));
      });
    const gas = paying.reduce((sum, item) => sum + gasOfItem(item, item.vault), 0);
    const fair = BigInt(gas) * (baseFee + fairPriority) + (paying.length > 0 ? dataFee : 0n);
    wasted += paidFor(entry, baseFee) - fair;
  }
  return wasted;
}

type PriceRequest = {
  world: Pick<Lie, "openWidth" | "startSeconds">;
  lie?: Lie;
  isControl?: boolean;
  draw?: number;
};

/**
 * Runs a simulation and returns its cost. The same seed always gives the same payments and blocks,
 * regardless of the endpoints.
 * @param lie the wrong answers of one of the three endpoints; the control asks only this endpoint
 * @param draw the seed for the endpoints' latencies and the executor's pauses
 */
async function priceOfHistory(
  seed: number,
  { world: { openWidth, startSeconds }, lie, isControl = false, draw = 0 }: PriceRequest,
): Promise<Price> {
  const scheduler = createScheduler();
  const width = openWidth?.();
  const isStormy = () => false;
  const options = { isPlain: true, ...(width && { width }) };
  const world = await createWorld(scheduler, seededRandom(seed), isStormy, options);
  const random = seededRandom(seed + 1_000_000 * (1 + draw));
  const endpoints = Array.from({ length: isControl ? 1 : 3 }, (_, index) =>
    endpointOf(`rpc${index}`, world, scheduler, random, index === 0 ? lie : undefined),
  );
  const danger = { crashRate: () => 0, freezeRate: () => 0 };
  const keys = senders.slice(0, width?.keys ?? 1);
  const tuning = { recordsPerPass: 3 };
  scheduler.at(startSeconds * 1000, () =>
    keepRunning("a", world, endpoints, scheduler, random, danger, () => {}, tuning, keys),
  );
  await scheduler.run(endSeconds * 1000);
  const wastedWei = world.chain.blocks.reduce(
    (sum, block) => sum + wastedIn(block, world.chain),
    0n,
  );
  const waits = waitsOf(world, 0);
  const faults = faultsOf(await judge(world));
  await world.close();
  return { wastedWei, waits, faults };
}

/**
 * The maximum number of additional blocks that payments may wait because of the wrong answers.
 * After this number of blocks, an endpoint that does not answer, or refuses all calls, is asked
 * last.
 */
const lieBlocksMax = 2;

/**
 * The maximum number of simulations with correct endpoints to compare. The simulations differ in
 * the times at which the executor reads from the endpoints. These times can decide whether an
 * address is executed before its intent expires, or recovered some blocks later.
 */
const drawsMax = 12;

/**
 * Returns the costs that only the wrong answers explain: wasted wei, longer waits, or wrong data in
 * the database.
 */
export async function faultsOfLie(seed: number, isControl = false) {
  const lie = lieOf(seed);
  const lied = await priceOfHistory(seed, { world: lie, lie, isControl });
  const waits = new Map([...lied.waits.keys()].map((address) => [address, 0]));
  let honestWei = 0n;
  const untrue: string[] = [];
  const waitedMore = () =>
    Math.max(...[...lied.waits].map(([address, blocks]) => blocks - waits.get(address)!));
  const isDearer = () => lied.wastedWei > honestWei;
  // Returns whether another simulation is needed for comparison. If the database is wrong, no
  // comparison can explain it.
  const isOpen = () => lied.faults.length === 0 && (waitedMore() > lieBlocksMax || isDearer());
  for (let draw = 0; draw === 0 || (draw < drawsMax && isOpen()); draw++) {
    const honest = await priceOfHistory(seed, { world: lie, draw });
    untrue.push(...honest.faults.map((fault) => `without a lie: ${fault}`));
    if (honest.wastedWei > honestWei) honestWei = honest.wastedWei;
    for (const [address, blocks] of honest.waits) {
      waits.set(address, Math.max(blocks, waits.get(address)!));
    }
  }
  const faults = [...lied.faults, ...untrue];
  if (isDearer()) faults.push(`wasted ${lied.wastedWei} wei, ${honestWei} without`);
  if (waitedMore() > lieBlocksMax) faults.push(`waited ${waitedMore()} more blocks`);
  return { faults: faults.map((fault) => `${lie.text}: ${fault}`), waitedMore: waitedMore() };
}
