// If WORKERS is above 1, runs several worker processes, so that the service can use several cores.
// The workers listen on one port and share one PostgreSQL database. The parent process does not
// serve requests. The parent process distributes connections evenly among the workers
// (node:cluster) and restarts workers. It also forwards signals and combines the workers' metrics.
//
// The executor runs in a separate process. The processes that serve the API do not have the
// executor's keys.

import cluster, { type Worker } from "node:cluster";
import type { Logger } from "pino";
import { type Config, keySettings } from "../../config.ts";
import { backoff } from "../../flow/wait.ts";
import { serveWorkersMetrics } from "../../http/metrics.ts";
import { exitLogged } from "../../log.ts";
import { onStopSignals } from "./signals.ts";

/**
 * The minimum and the maximum delay before a worker is restarted. The delay doubles each time that
 * the worker exits soon after its start.
 */
const restartMsMin = 100;
const restartMsMax = 30_000;
/** The run time after which a worker's next restart has the minimum delay again. */
const soundMs = 60_000;
/** How long a worker can run after the drain period before the worker is killed. */
const stopMsMax = 10_000;

const noKey = Object.fromEntries(keySettings.map((name) => [name, ""]));

/**
 * Runs the workers until a signal arrives, and then ends the process. If the first worker exits
 * before it listens, also ends the process.
 *
 * @param program the path of the program that each worker runs
 * @throws if the metrics port is in use
 */
export async function runWorkers(program: string, config: Config, log: Logger): Promise<void> {
  cluster.setupPrimary({ exec: program, args: [] });
  const { metricsHost, metricsPort } = config;
  if (metricsPort !== undefined) await serveWorkersMetrics({ metricsHost, metricsPort }, log);
  const restarts = new Set<NodeJS.Timeout>();
  let isStopping = false;
  let hasListened = false;

  const keep = (env: NodeJS.ProcessEnv, deaths = 0): Worker => {
    const worker = cluster.fork(env);
    const startedAtMs = performance.now();
    const about = { worker: worker.id, pid: worker.process.pid };
    log.info(about, "worker started");
    worker.once("exit", (code: number | null, signal: string | null) => {
      if (isStopping) return;
      if (!hasListened) process.exit(code || 1);
      const quick = performance.now() - startedAtMs < soundMs ? deaths : 0;
      const restartMs = backoff(quick + 1, restartMsMin, restartMsMax);
      log.error({ ...about, code, signal, restartMs }, "worker exited; it will be restarted");
      const timer = setTimeout(() => {
        restarts.delete(timer);
        keep(env, quick + 1);
      }, restartMs);
      restarts.add(timer);
    });
    return worker;
  };

  const drain = async (signal: NodeJS.Signals) => {
    isStopping = true;
    log.info({ signal }, "draining");
    for (const timer of restarts) clearTimeout(timer);
    const late = ({ id, process: { pid } }: Worker) =>
      log.error({ worker: id, pid }, "worker did not stop in time and was killed");
    const code = await endAll(signal, config.drainSeconds * 1000 + stopMsMax, late);
    log.info("stopped");
    await exitLogged(log, code);
  };
  onStopSignals(drain, () => {
    for (const worker of running()) worker.process.kill("SIGKILL");
    process.exit(1);
  });

  const api = { ROLE: "api", ...noKey };
  keep(api).once("listening", () => {
    hasListened = true;
    for (let i = 1; i < config.workers; i++) keep(api);
    if (config.role === "all") keep({ ROLE: "executor", WORKERS: "1" });
  });
}

const running = () =>
  Object.values(cluster.workers ?? {}).filter((worker): worker is Worker => !!worker);

/**
 * Sends `signal` to all workers, and waits until they have exited.
 *
 * @param onLate called for each worker that is killed after `msMax`
 * @returns 0 if every worker ended normally
 */
async function endAll(
  signal: NodeJS.Signals,
  msMax: number,
  onLate: (worker: Worker) => void,
): Promise<number> {
  const workers = running().filter((worker) => !worker.isDead());
  const exits = workers.map(
    (worker) =>
      new Promise<boolean>((resolve) => worker.once("exit", (code) => resolve(code === 0))),
  );
  for (const worker of workers) worker.process.kill(signal);
  const late = setTimeout(() => {
    for (const worker of workers.filter((each) => !each.isDead())) {
      onLate(worker);
      worker.process.kill("SIGKILL");
    }
  }, msMax);
  const ended = await Promise.all(exits);
  clearTimeout(late);
  return ended.every(Boolean) ? 0 : 1;
}
