// Starts the role `executor`: it executes and recovers addresses, creates events, and delivers
// webhooks.

import type { Config } from "../config.ts";
import { startObserver } from "../events/observe.ts";
import { returnsFinder } from "../executor/client.ts";
import { openIntentFilter } from "../executor/money/tips.ts";
import { startExecutor } from "../executor/start.ts";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import { followMirrors } from "../records/mirror.ts";
import { startDelivery } from "../webhooks/deliver.ts";
import { enqueue } from "../webhooks/deliveries/enqueue.ts";
import { sender } from "../webhooks/send.ts";
import type { RoleParts } from "./parts.ts";

/**
 * Starts all parts of the role, and returns a function that stops them one after another.
 *
 * @throws an error with a one-sentence message if there is no usable key; then no part is running
 */
export function startExecutorRole(config: Config, parts: RoleParts): { stop(): Promise<void> } {
  const { log, metrics, factory, keccak, store, chains, statusReader, chainLoop } = parts;
  const { registry } = metrics;
  const executor = startExecutor({
    store,
    chains: chains.known,
    factory,
    config,
    registry,
    log,
    listenersOf: (chainId) => ({
      onHead: chains.rpcOf(chainId).heads.note,
      onSwept: chainLoop(chainId).startTurn,
    }),
  });
  const mirrors = takeFromMirrors(config, parts);
  const observer = startObserver({
    store,
    chains,
    statusReader,
    chainLoop,
    factory,
    keccak,
    publicUrl: config.publicUrl,
    now: Date.now,
    findReturns: returnsFinder(store.db, keccak),
    onEvents: enqueue,
    log,
  });
  const delivery = startDelivery({
    store,
    send: sender(config.webhookTargets),
    now: Date.now,
    random: Math.random,
    pollMs: 250,
    log,
  });
  return {
    async stop() {
      for (const each of [delivery, observer, executor, mirrors]) await each?.stop();
    },
  };
}

/** Starts the import of records from the configured mirrors, if there are any. */
function takeFromMirrors(
  { executorMirrors, executorPays, dataDirectory }: Config,
  parts: RoleParts,
) {
  if (!executorMirrors) return undefined;
  const { store, chains, log } = parts;
  const logLimited = limitLogs();
  return followMirrors(executorMirrors, {
    store,
    dataDirectory,
    isWanted: openIntentFilter(chains.known, executorPays, Date.now),
    onFault(mirror, fault) {
      const kind = `${mirror} ${messageKind(fault)}`;
      logLimited(kind, (leftOut) => log.warn({ mirror, fault, leftOut }, "a mirror failed"));
    },
  });
}
