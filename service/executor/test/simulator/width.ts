// What a world may have beside the plain one, so that there is more to lie about: two keys of
// which one is poor, tips, a fee for bytes, small blocks, traces, reorganisations. All of it is
// drawn from a stream of its own, so that payments and blocks of a seed are the same without.

import { type Hex, tipAddress } from "executable-address";
import type { ChainSettings } from "../../pass.ts";
import { plainRules, type Rules } from "./chain-model.ts";
import { itemGas, type VaultModel } from "./factory-model.ts";
import type { Random } from "./scheduler.ts";

export type Width = {
  random: Random;
  /** How many keys pay gas. */
  keys: number;
  rules: Rules;
  finality: ChainSettings["finality"];
  /** Some intents pay a tip. */
  isTipped: boolean;
  /** Executions take more or less on chain than they are estimated at. */
  isUneven: boolean;
  /** Each block undoes some before it so often; never one that is final by depth. */
  reorgRate: number;
  /** One base fee for all blocks. */
  isSteady: boolean;
  /** Somebody who has the key spends one nonce. */
  isShared: boolean;
  /** Payments come at multiples of so many seconds: several in one block make batches. */
  paySeconds: number;
};

/** One of the two tokens has a price, which does not come out in whole wei. */
export const toTipPrices = (tokens: readonly Hex[]): ChainSettings["tipPrices"] =>
  new Map([[tokens[0]!, { wei: 123_457n, decimals: 3 }]]);

/** Some intents pay a tip, and executions take other gas than estimated. */
export const tippedWidth = (random: Random, keys: number): Width => ({
  ...{ random, keys, rules: plainRules, finality: "blocks" as const, reorgRate: 0 },
  ...{ isTipped: true, isUneven: true, isSteady: true, isShared: false, paySeconds: 0 },
});

/** What a lie is about decides what the world must have. */
export type Needs = Partial<
  Record<"finality" | "traces" | "dataFee" | "poorKey" | "fewLogs", true>
>;

/** @param random from here on the world draws from it too */
export function drawWidth(random: Random, keys: readonly Hex[], needs: Needs): Width {
  const is = (rate: number) => random() < rate;
  const finality = is(0.5) || needs.finality ? "finalized" : "blocks";
  const isTraced = is(0.5) || needs.traces === true;
  const weiPerByte = is(0.3) || needs.dataFee ? BigInt(1 + Math.floor(random() * 2000)) : 0n;
  const isPoor = is(0.25) || needs.poorKey === true;
  // From nothing to what some executions take.
  const poorWei = is(0.4) ? 0n : BigInt(Math.floor(random() * 3e7));
  const isSmall = is(0.3);
  const gasLimit = isSmall ? BigInt(540_000 + Math.floor(random() * 100_000)) : 30_000_000n;
  return {
    random,
    keys: isPoor || is(0.3) ? 2 : 1,
    rules: {
      ...plainRules,
      ...{ gasLimit, weiPerByte, isTraced },
      logsMax: needs.fewLogs ? Number(is(0.5)) : plainRules.logsMax,
      coins: new Map(isPoor ? [[keys[0]!, poorWei]] : []),
    },
    finality,
    isTipped: is(0.5),
    isUneven: is(0.5),
    reorgRate: is(0.3) ? 0.05 : 0,
    isSteady: is(0.6),
    isShared: !isPoor && is(0.15),
    paySeconds: is(0.4) || needs.traces || needs.fewLogs ? 150 : 0,
  };
}

type Drawn = Pick<VaultModel, "gas" | "tip">;

/** One intent pays its executor so much, and takes so much gas on chain. */
export function drawIntent(width: Width | undefined, token: Hex, amount: bigint): Drawn {
  if (!width) return { gas: itemGas };
  const { random, isTipped, isUneven } = width;
  const [tipRate, tipShare, gasShare] = [random(), random(), random()];
  const tip = { token, amount: (amount * BigInt(Math.floor(tipShare * 300))) / 1000n };
  return {
    gas: isUneven ? Math.floor(itemGas * (0.6 + gasShare * 0.7)) : itemGas,
    ...(isTipped && tipRate < 0.6 && tip.amount > 0n && { tip }),
  };
}

/** The call of the Tip contract. */
export const callsOf = ({ tip }: Drawn) =>
  tip
    ? [
        {
          target: tipAddress,
          function: "tip(address token, uint256 amount)",
          args: [tip.token, String(tip.amount)],
        },
      ]
    : [];
