// Starts the executor: one loop per chain, with real clocks and endpoints.

import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Hex } from "executable-address";
import { factoryCodeHash } from "executable-address-contracts";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { type Chain, recoverMinDefault } from "../chain/chains.ts";
import { openEndpoints } from "../chain/rpc/endpoint.ts";
import { followHeads } from "../chain/rpc/heads-by-websocket.ts";
import { lowerAddress } from "../flow/lower-address.ts";
import { sleepUnref } from "../flow/wait.ts";
import { keccak } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import { openEventLog } from "./events/log.ts";
import { countEvents } from "./events/metrics.ts";
import { attemptLimits } from "./jobs/decide.ts";
import { openLedger } from "./ledger/ledger.ts";
import { feePolicyOf } from "./money/fees.ts";
import { convertToWei, toTipPrices } from "./money/tips.ts";
import type { Parts } from "./pass.ts";
import { run } from "./run.ts";
import { type ChainSettings, defaultTuning, renewalMs } from "./settings.ts";
import { type KeySources, openSigners } from "./transactions/signer.ts";

export type ExecutorConfig = KeySources & {
  executorPollMs: number;
  executorLeaseSeconds: number;
  executorRecordsPerPass: number;
  /** Wei, decimal. */
  executorGasPerDayMax: string;
  executorGasPerAccountMax: string;
  executorGasPerClientIdMax: string;
  executorPays: "sponsor" | "tips" | "both";
  executorBalanceWarn: string;
  /** The maximum number of returns of reported tokens per account, chain, and day. */
  executorReportedTokensPerDay: number;
};

export type Executor = {
  /** The addresses of the keys that pay gas, lowercase. */
  addresses: readonly Hex[];
  /** Resolves after the current work has ended and the leases are released. */
  stop(): Promise<void>;
};

/**
 * The time limit for a request to an endpoint. The limit is much shorter than `leaseMsMin`.
 * Otherwise, the executor could lose the lease while it waits.
 */
const rpcTimeoutMs = 4000;

export type ExecutorParts = {
  store: Pick<Store, "db" | "dialect">;
  chains: readonly Chain[];
  factory: Hex;
  config: ExecutorConfig;
  registry: Registry;
  log: Logger;
  /** Returns a chain's callbacks `onHead` and `onSwept`, which pass.ts describes. */
  listenersOf?: (chainId: number) => Pick<Parts, "onHead" | "onSwept">;
};

/** @throws an error with a one-sentence message if there is no usable key */
export function startExecutor(parts: ExecutorParts): Executor {
  const { log } = parts;
  const stopping = new AbortController();
  const signers = openSigners(parts.config);
  const cores = openParts(parts, stopping.signal, signers);
  const loops = cores.map((core) => run(core, stopping.signal));
  const addresses = signers.map(({ address }) => address);
  log.info({ addresses, chains: parts.chains.length }, "executor started");
  return {
    addresses,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

export function openParts(
  parts: ExecutorParts,
  stopping: AbortSignal,
  signers: Parts["signers"] = openSigners(parts.config),
): Parts[] {
  const { store, config, log } = parts;
  const ledger = openLedger(store.db, store.dialect);
  const countEvent = countEvents(parts.registry);
  const instance = randomUUID();
  const leaseMs = config.executorLeaseSeconds * 1000;
  // Polls renew the lease, so they are necessary even if a WebSocket announces no block.
  const quietMs = renewalMs(leaseMs);
  return parts.chains.map((chain) => {
    const logEvent = openEventLog(log.child({ chainId: chain.chainId }));
    const heads = followHeads(chain.wsUrls, { stopping, quietMs });
    return {
      instance,
      chain: toSettings(chain, config),
      factory: lowerAddress(parts.factory),
      factoryCodeHash,
      keccak,
      ledger,
      endpoints: openEndpoints(chain, chain.rpcUrls, { timeoutMs: rpcTimeoutMs }),
      relays: openEndpoints(chain, chain.sendUrls, { timeoutMs: rpcTimeoutMs }, "relay "),
      signers,
      clock: performance.now.bind(performance),
      random: Math.random,
      waitForPoll: heads.wait,
      sleep: sleepUnref,
      yieldTurn: setImmediate,
      hasWebSocket: chain.wsUrls.length > 0,
      ...parts.listenersOf?.(chain.chainId),
      report(event) {
        countEvent(chain.chainId, event);
        logEvent(event);
      },
      tuning: {
        ...defaultTuning,
        pollMs: config.executorPollMs,
        leaseMs,
        recordsPerPass: config.executorRecordsPerPass,
      },
    };
  });
}

function toSettings(chain: Chain, config: ExecutorConfig): ChainSettings {
  const lower = (token: { address: Hex }) => lowerAddress(token.address);
  const tipPrices = toTipPrices(chain);
  const lookalikes = new Map(
    chain.lookalikes.map((token) => [lower(token), BigInt(token.recoverMin)] as const),
  );
  return {
    chainId: chain.chainId,
    tokens: chain.tokens.map(lower),
    lookalikes,
    confirmations: chain.confirmations,
    finality: chain.finality,
    paymentConfirmations: chain.paymentConfirmations,
    decision: {
      recoverMin: new Map(
        chain.tokens.map(
          (token) => [lower(token), BigInt(token.recoverMin ?? recoverMinDefault)] as const,
        ),
      ),
      lookalikes,
      convertToWei: (token, amount) => convertToWei(tipPrices, token, amount),
      ...attemptLimits,
    },
    sendFallbackBlocks: chain.sendFallbackBlocks,
    fees: feePolicyOf(chain),
    budgets: {
      perDayMax: BigInt(config.executorGasPerDayMax),
      perAccountMax: BigInt(config.executorGasPerAccountMax),
      perClientMax: BigInt(config.executorGasPerClientIdMax),
    },
    pays: config.executorPays,
    tipPrices,
    reportedTokensPerDay: config.executorReportedTokensPerDay,
    balanceWarnBelow: BigInt(config.executorBalanceWarn),
  };
}
