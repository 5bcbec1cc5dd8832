// Measures the cost that arises if one of three endpoints gives wrong answers. The cost has two
// parts: wasted wei, and the number of additional blocks for which payments wait. The same
// simulation without wrong answers serves as a comparison.

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
 * `wastedWei` is the cost of useless transactions, plus the overpaid part of other transactions'
 * fees. `waits` contains the number of blocks that each address waited.
 */
type Price = { wastedWei: bigint; waits: ReadonlyMap<Hex, number>; faults: string[] };

/** The priority fee per gas that correct endpoints suggest, in wei. */
const fairPriority = 2n;

/**
 * Returns the wei that a block's transactions wasted. A useless transaction wastes its full cost.
 * The fair cost of any other transaction depends on the fees that correct endpoints suggest. Such a
 * transaction wastes only its cost above the fair cost.
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
 * Runs a simulation and returns its cost. The payments and blocks depend only on the seed, and not
 * on the endpoints.
 * @param lie the wrong answers of the first of three endpoints. In the control simulation, there is
 *   only this endpoint
 * @param draw selects the random latencies of the endpoints and the random pauses of the executor
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
 * Wrong answers may delay payments by at most this number of blocks. During this time, the executor
 * detects endpoints that refuse all calls or do not answer. It then asks these endpoints last.
 */
const lieBlocksMax = 2;

/**
 * The comparison runs at most this number of simulations with correct endpoints. These simulations
 * differ in the times at which the executor reads from the endpoints. Shortly before an intent
 * expires, these times decide whether the address is executed or recovered.
 */
const drawsMax = 12;

/**
 * Lists the faults that wrong answers cause: wasted wei, longer waits, or faults in the verdict
 * (verdict.ts). Wasted wei and longer waits do not count if they also occur with correct endpoints.
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
  // Returns whether the comparison needs another simulation with correct endpoints. If the verdict
  // already lists a fault, no comparison is needed.
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
