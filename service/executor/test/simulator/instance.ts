// Runs an executor that can be killed between any two steps. After a kill, the executor restarts
// with only its database. The executor can also freeze for a while and continue.

import { type Hex, keccak256 as keccak256Bytes } from "executable-address";
import { keccak256 } from "viem";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import type { ExecutorEvent } from "../../events/event.ts";
import { attemptLimits } from "../../jobs/decide.ts";
import { type Ledger, openLedger } from "../../ledger/ledger.ts";
import type { Parts, UnsignedTransaction } from "../../pass.ts";
import { run } from "../../run.ts";
import { defaultTuning, type Tuning } from "../../settings.ts";
import { encodeRaw } from "./chain-model.ts";
import type { Random, Scheduler } from "./scheduler.ts";
import { chainId, confirmations, factory, sender, tokens, type World } from "./world.ts";

export type Danger = {
  /**
   * `crashRate` and `freezeRate` return the probabilities of a crash and a freeze per step. Both
   * are 0 during calm periods.
   */
  crashRate(): number;
  freezeRate(): number;
};

const restartMsMax = 30_000;
const freezeMsMax = 60_000;

/** Starts an executor, and restarts it after each crash. */
export function keepRunning(
  name: string,
  { db, settings }: Pick<World, "db" | "settings">,
  endpoints: Endpoint[],
  scheduler: Scheduler,
  random: Random,
  danger: Danger,
  report: (instance: string, event: ExecutorEvent) => void,
  tuning: Partial<Tuning>,
  keys: readonly Hex[] = [sender],
): void {
  let life = 0;
  const start = () => {
    const instance = `${name}${++life}`;
    const step = mortal(scheduler, random, danger, () => {
      report(instance, { kind: "pass_failed", message: "killed" });
      scheduler.at(scheduler.now() + random() * restartMsMax, start);
    });
    const ledger = openLedger(db, "sqlite");
    const parts: Parts = {
      instance,
      chain: chainWith(settings),
      factory,
      factoryCodeHash: keccak256("0x01"),
      keccak: keccak256Bytes,
      ledger: wrapped(ledger, step),
      endpoints: endpoints.map(({ name, ask }) => ({ name, ask: step(ask) })),
      relays: [],
      signers: keys.map((address) => ({
        address,
        sign: step(async (transaction: UnsignedTransaction) => {
          const isRefused = keys.length > 1 && danger.crashRate() > 0 && random() < 0.1;
          if (isRefused) throw new Error("the key does not sign");
          return encodeRaw({ from: address, ...transaction });
        }),
      })) as unknown as Parts["signers"],
      clock: scheduler.now,
      random,
      waitForPoll: scheduler.sleep,
      sleep: scheduler.sleep,
      yieldTurn: () => scheduler.sleep(0),
      hasWebSocket: false,
      report: (event) => report(instance, event),
      tuning: {
        ...defaultTuning,
        pollMs: 9000,
        leaseMs: 20_000,
        resendMs: 15_000,
        stuckSeconds: 40,
        batchItemsMax: 4,
        inFlightMax: 6,
        resweepBlocks: 8,
        ...tuning,
      },
    };
    run(parts, { aborted: false });
  };
  start();
}

const chainWith = (settings: World["settings"]): Parts["chain"] => ({
  chainId,
  tokens,
  lookalikes: new Map(),
  confirmations,
  finality: settings?.finality ?? "blocks",
  paymentConfirmations: 0,
  decision: {
    recoverMin: new Map(),
    lookalikes: new Map(),
    convertToWei: () => undefined,
    ...attemptLimits,
    recoveriesPerDayMax: 20,
  },
  sendFallbackBlocks: undefined,
  reportedTokensPerDay: 0,
  fees: { perGasMax: 5000n, priorityMin: 1n, priorityMax: 3n },
  budgets: {
    perDayMax: 10n ** 30n,
    perAccountMax: 10n ** 30n,
    perClientMax: 10n ** 30n,
  },
  pays: "both",
  tipPrices: settings?.tipPrices ?? new Map(),
  balanceWarnBelow: 0n,
});

type Step = <Args extends unknown[], Result>(
  act: (...args: Args) => Promise<Result>,
) => (...args: Args) => Promise<Result>;

/** Makes the executor crash or freeze at random, before or after each of its calls. */
function mortal(scheduler: Scheduler, random: Random, danger: Danger, onDeath: () => void): Step {
  let isDead = false;
  const never = new Promise<never>(() => {});
  const pass = async () => {
    if (!isDead && random() < danger.crashRate()) {
      isDead = true;
      onDeath();
    }
    if (isDead) await never;
    if (random() < danger.freezeRate()) await scheduler.sleep(random() * freezeMsMax);
  };
  return (act) =>
    async (...args) => {
      await pass();
      try {
        return await act(...args);
      } finally {
        await pass();
      }
    };
}

function wrapped(ledger: Ledger, step: Step): Ledger {
  const entries = Object.entries(ledger).map(([name, act]) => [name, step(act as never)]);
  return Object.fromEntries(entries) as Ledger;
}
