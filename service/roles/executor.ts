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

export function startExecutorRole(config: Config, parts: RoleParts): void {
  const { log, stops, metrics, factory, keccak, store, chains, statusReader, chainLoop } = parts;
  const { registry } = metrics;
  takeFromMirrors(config, parts);
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
  stops.push(() => executor.stop());
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
  stops.push(() => observer.stop());
  const delivery = startDelivery({
    store,
    send: sender(config.webhookTargets),
    now: Date.now,
    random: Math.random,
    pollMs: 250,
    log,
  });
  stops.push(() => delivery.stop());
}

/** Starts the import of records from the configured mirrors. */
function takeFromMirrors(
  { executorMirrors, executorPays, dataDirectory }: Config,
  parts: RoleParts,
) {
  if (!executorMirrors) return;
  const { store, chains, stops, log } = parts;
  const logLimited = limitLogs();
  const mirrors = followMirrors(executorMirrors, {
    store,
    dataDirectory,
    isWanted: openIntentFilter(chains.known, executorPays, Date.now),
    onFault(mirror, fault) {
      const kind = `${mirror} ${messageKind(fault)}`;
      logLimited(kind, (leftOut) => log.warn({ mirror, fault, leftOut }, "a mirror failed"));
    },
  });
  stops.push(() => mirrors.stop());
}
