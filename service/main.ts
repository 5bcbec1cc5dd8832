// The program: reads its configuration, opens what it needs, listens, and drains on a signal.

import cluster from "node:cluster";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { factoryAddress, type Keccak } from "executable-address";
import { factoryCodeHash } from "executable-address-contracts";
import type { Logger } from "pino";
import { type Accounts, openAccounts } from "./accounts/open.ts";
import { readChains } from "./chain/chains.ts";
import { type Chains, openChains } from "./chain/registry.ts";
import { type Config, readConfig } from "./config.ts";
import { startObserver } from "./events/start.ts";
import { openDesk } from "./executor/desk/desk.ts";
import { wantedBy } from "./executor/money/wanted.ts";
import { startExecutor } from "./executor/start.ts";
import { messageKind, seldom } from "./flow/seldom.ts";
import { buildApp } from "./http/app.ts";
import { readLabels } from "./http/dashboard/preview/labels.ts";
import { walletConnectOf } from "./http/dashboard/reach/walletconnect.ts";
import { prepareDrain } from "./http/load/drain.ts";
import { connectionsWaitingMax } from "./http/load/sockets.ts";
import { createMetrics, type Metrics, reportMetrics, serveMetrics } from "./http/metrics.ts";
import { exitLogged, openLog, originsOnly } from "./log.ts";
import { followMirrors } from "./records/follow-mirrors.ts";
import { sentenceOf } from "./sentence.ts";
import { keccak } from "./store/keccak.ts";
import { openStore } from "./store/open.ts";
import { requireOwnRecords } from "./store/record.ts";
import type { Store } from "./store/store.ts";
import { startTelemetry } from "./trace/telemetry.ts";
import { startDelivery } from "./webhooks/deliver.ts";
import { enqueue } from "./webhooks/deliveries/enqueue.ts";
import { sender } from "./webhooks/send.ts";
import { eventLimitsOf } from "./workers/limits.ts";
import { onStopSignals } from "./workers/signals.ts";
import { runWorkers } from "./workers/workers.ts";

/** Undone last first, so that nothing is closed before those who use it. */
type Stops = (() => unknown)[];

try {
  const config = readConfig({ ...process.env, ...flagsOf(process.argv.slice(2)) });
  const run = () => runWorkers(import.meta.filename, config, logOf(config));
  await (config.workers > 1 && cluster.isPrimary ? run() : start(config)).catch((error) => {
    throw new Error(sentenceOf(error, config), { cause: error });
  });
} catch (error) {
  process.stderr.write(`${originsOnly((error as Error).message)}\n`);
  process.exit(1);
}

/** `--from-mirror URL`, once or more: an executor of the records that mirrors have. */
function flagsOf(args: string[]): NodeJS.ProcessEnv {
  const options = { "from-mirror": { type: "string", multiple: true } } as const;
  const mirrors = parseArgs({ args, options }).values["from-mirror"];
  return mirrors ? { ROLE: "executor", EXECUTOR_MIRRORS: mirrors.join(",") } : {};
}

/** The log of one of several workers has its number. */
function logOf({ logLevel: level, role }: Config): Logger {
  return openLog({ level, role, ...(cluster.worker && { worker: cluster.worker.id }) });
}

async function start(config: Config): Promise<void> {
  const log = logOf(config);
  const stops: Stops = [];
  const draining = new AbortController();
  const metrics = createMetrics();
  const stopTelemetry = await startTelemetry(process.env, log);
  if (stopTelemetry) stops.push(stopTelemetry);

  const store = await openStore(config);
  stops.push(() => store.close());
  await requireOwnRecords(store, { factory: factoryAddress, keccak });
  const accounts = await countedAccounts(store, config, metrics, log);
  stops.push(() => accounts.close());
  const factory = { address: factoryAddress, codeHash: factoryCodeHash };
  const chains = await openChains(readChains(config.chainsFile), factory, log);
  stops.push(() => chains.close());
  stops.push(await tellMetrics(metrics, config, log));

  const opened = { log, stops, metrics, keccak, store, accounts, chains };
  if (config.role !== "executor") await serve(config, opened, draining.signal);
  if (config.role !== "api") await startExecutorRole(config, opened);
  stopOnSignal(stops, draining, log);
}

/** The parts that both roles work with. */
type Opened = {
  log: Logger;
  stops: Stops;
  metrics: Metrics;
  keccak: Keccak;
  store: Store;
  accounts: Accounts;
  chains: Chains;
};

/** The role `api`: the HTTP API and the dashboard. */
async function serve(config: Config, opened: Opened, draining: AbortSignal): Promise<void> {
  const { log, stops, metrics, keccak, store, accounts, chains } = opened;
  const app = buildApp({
    store,
    accounts,
    chains,
    desk: openDesk(store, log),
    factory: factoryAddress,
    keccak,
    publicUrl: config.publicUrl,
    webhookTargets: config.webhookTargets,
    walletConnect: walletConnectOf(config),
    labels: readLabels(config.labelsFile),
    docsUrl: config.docsUrl,
    securityContact: config.securityContact,
    trustedProxies: config.trustedProxies,
    limits: config.limits,
    eventLimits: eventLimitsOf(config),
    metrics,
    log,
    now: Date.now,
    draining,
  });
  const drain = prepareDrain(app, log);
  await app.listen({ host: config.host, port: config.port, backlog: connectionsWaitingMax });
  stops.push(() => drain(config.drainSeconds));
  const { address, port } = app.server.address() as AddressInfo;
  log.info({ address, port, publicUrl: config.publicUrl }, "listening");
}

/** Takes in the records of mirrors, where some are named. */
function takeFromMirrors({ executorMirrors, executorPays, dataDirectory }: Config, opened: Opened) {
  if (!executorMirrors) return;
  const { store, chains, stops, log } = opened;
  const tell = seldom();
  const mirrors = followMirrors(executorMirrors, {
    store,
    dataDirectory,
    isWanted: wantedBy(chains.known, executorPays),
    tell(mirror, fault) {
      const kind = `${mirror} ${messageKind(fault)}`;
      tell(kind, (leftOut) => log.warn({ mirror, fault, leftOut }, "a mirror is at fault"));
    },
  });
  stops.push(() => mirrors.stop());
}

/** The role `executor`: executions and recoveries, events of addresses, and webhooks. */
async function startExecutorRole(config: Config, opened: Opened): Promise<void> {
  const { log, stops, metrics, keccak, store, chains } = opened;
  const { registry } = metrics;
  const factory = factoryAddress;
  takeFromMirrors(config, opened);
  const executor = startExecutor({
    store,
    chains: chains.known,
    factory,
    config,
    registry,
    log,
    onHead: (chainId, head) => chains.rpcOf(chainId).heads.note(head),
  });
  stops.push(() => executor.stop());
  const observer = startObserver({
    store,
    chains,
    factory,
    keccak,
    publicUrl: config.publicUrl,
    now: Date.now,
    onEvents: (transaction, events) => enqueue(transaction, events, Date.now()),
    pollMs: config.executorPollMs,
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

/** Listens on its own port, or by way of the process that started it. @returns what ends it */
async function tellMetrics({ registry }: Metrics, config: Config, log: Logger) {
  const { metricsHost, metricsPort } = config;
  if (metricsPort === undefined) return () => {};
  if (cluster.isWorker) {
    reportMetrics(registry);
    return () => {};
  }
  const server = await serveMetrics(registry, { metricsHost, metricsPort }, log);
  return () => server.close();
}

function countedAccounts(
  store: Store,
  config: Config,
  metrics: Metrics,
  log: Logger,
): Promise<Accounts> {
  const tell = seldom();
  return openAccounts(store, config, {
    onLimiterFault(err) {
      metrics.limiterFaults.inc();
      const text = "the shared limiter does not answer; this server limits by itself";
      tell("limiter", (leftOut) => log.error({ err, leftOut }, text));
    },
    onUsageFault(err) {
      const text = "usage was not written; it will be tried again";
      tell("usage", (leftOut) => log.error({ err, leftOut }, text));
    },
  });
}

/** The first signal drains; a later one ends at once. */
function stopOnSignal(stops: Stops, draining: AbortController, log: Logger): void {
  const drain = async (signal: string) => {
    log.info({ signal }, "draining");
    draining.abort();
    try {
      for (const each of stops.toReversed()) await each();
    } catch (err) {
      log.error({ err }, "not everything was closed in good order");
      return exitLogged(log, 1);
    }
    log.info("stopped");
    await exitLogged(log, 0);
  };
  onStopSignals(drain, () => process.exit(1));
}
