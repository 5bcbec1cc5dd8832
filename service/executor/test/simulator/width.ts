// Additional features of a simulation, such as tips, a data fee, or a second key. A separate random
// number generator chooses these features. Otherwise, adding features would change the simulations
// of existing seeds.

import { type Hex, tipAddress } from "executable-address";
import type { ChainSettings } from "../../settings.ts";
import { plainRules, type Rules } from "./chain-model.ts";
import { itemGas, type VaultModel } from "./factory-model.ts";
import type { Random } from "./scheduler.ts";

export type Width = {
  random: Random;
  /** The number of keys that pay gas. */
  keys: number;
  rules: Rules;
  finality: ChainSettings["finality"];
  /** Whether some intents pay a tip. */
  isTipped: boolean;
  /** Whether the gas that executions use on chain differs from the estimate. */
  isUneven: boolean;
  /**
   * The probability of a reorganization per block. Blocks that are final by depth are not removed.
   */
  reorgRate: number;
  /** Whether all blocks have the same base fee. */
  isSteady: boolean;
  /** Whether another program uses one nonce of the executor's key. */
  isShared: boolean;
  /**
   * Payments arrive at multiples of this time, so that several payments share a block and form
   * batches.
   */
  paySeconds: number;
};

/** The tip price of the first token. The price is not a whole number of wei per base unit. */
export const toTipPrices = (tokens: readonly Hex[]): ChainSettings["tipPrices"] =>
  new Map([[tokens[0]!, { wei: 123_457n, decimals: 3 }]]);

/** Returns a simulation with tips, and with executions that use more or less gas than estimated. */
export const tippedWidth = (random: Random, keys: number): Width => ({
  ...{ random, keys, rules: plainRules, finality: "blocks" as const, reorgRate: 0 },
  ...{ isTipped: true, isUneven: true, isSteady: true, isShared: false, paySeconds: 0 },
});

/**
 * The features that a simulation must have. For example, `traces` requires endpoints that support
 * traces, and payments that form batches.
 */
export type Needs = Partial<
  Record<"finality" | "traces" | "dataFee" | "poorKey" | "fewLogs", true>
>;

/** @param random the random stream, which the simulation continues to use */
export function drawWidth(random: Random, keys: readonly Hex[], needs: Needs): Width {
  const is = (rate: number) => random() < rate;
  const finality = is(0.5) || needs.finality ? "finalized" : "blocks";
  const isTraced = is(0.5) || needs.traces === true;
  const weiPerByte = is(0.3) || needs.dataFee ? BigInt(1 + Math.floor(random() * 2000)) : 0n;
  const isPoor = is(0.25) || needs.poorKey === true;
  // The key has no balance, or enough for at most a few executions.
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

/** Chooses the tip that an intent pays, and the gas that it uses on chain. */
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

/** Returns the call to the Tip contract, or no call if there is no tip. */
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
