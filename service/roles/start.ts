// Starts the roles of one process, and stops them after a signal. Each process loads only the code
// of its roles.

import cluster from "node:cluster";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { type Metrics, reportMetrics, serveMetrics } from "../http/metrics.ts";
import { exitLogged } from "../log.ts";
import { openStore } from "./open-store.ts";
import { openParts } from "./parts.ts";
import { onStopSignals } from "./workers/signals.ts";

/** The functions that stop the open parts. Each part comes after the parts that it uses. */
type Stops = readonly (() => unknown)[];

export async function startRoles(config: Config, log: Logger): Promise<void> {
  const api = config.role === "executor" ? undefined : await import("./api.ts");
  const executor = config.role === "api" ? undefined : await import("./executor.ts");
  const stops: (() => unknown)[] = [];
  const draining = new AbortController();
  try {
    const store = await openStore(config);
    stops.push(() => store.close());
    const parts = await openParts(store, config, log);
    stops.push(() => parts.chains.close());
    // The signal handlers are installed before the servers start, because an unhandled signal ends
    // the process immediately.
    stopOnSignal(stops, draining, log);
    stops.push(await startMetrics(parts.metrics, config, log));
    if (api) {
      const server = await api.openApi(config, parts, draining.signal);
      stops.push(server.stop);
      await server.listen();
    }
    if (executor && !draining.signal.aborted) {
      stops.push(executor.startExecutorRole(config, parts).stop);
    }
  } catch (error) {
    // Node can crash if it exits while a store's thread is starting, so the database is closed
    // first.
    await stopAll(stops, log);
    throw error;
  }
}

/**
 * Serves the metrics on a separate port. A worker sends its metrics to its parent process instead.
 *
 * @returns a function that closes the server, if there is one
 */
async function startMetrics({ registry }: Metrics, config: Config, log: Logger) {
  const { metricsHost, metricsPort } = config;
  if (metricsPort === undefined) return () => {};
  if (cluster.isWorker) {
    reportMetrics(registry);
    return () => {};
  }
  const server = await serveMetrics(registry, { metricsHost, metricsPort }, log);
  return () => server.close();
}

/** Drains the process at the first signal. A later signal ends the process immediately. */
function stopOnSignal(stops: Stops, draining: AbortController, log: Logger): void {
  const drain = async (signal: string) => {
    log.info({ signal }, "draining");
    draining.abort();
    if (!(await stopAll(stops, log))) return exitLogged(log, 1);
    log.info("stopped");
    await exitLogged(log, 0);
  };
  onStopSignals(drain, () => process.exit(1));
}

/**
 * Calls the functions in reverse order. If a function fails, logs the error and skips the remaining
 * functions.
 *
 * @returns whether all functions succeeded
 */
async function stopAll(stops: Stops, log: Logger): Promise<boolean> {
  try {
    for (const each of stops.toReversed()) await each();
    return true;
  } catch (err) {
    log.error({ err }, "the shutdown was incomplete");
    return false;
  }
}
