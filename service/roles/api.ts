// Opens the role `api`: the HTTP API and the dashboard.

import type { AddressInfo } from "node:net";
import { type Accounts, openAccounts } from "../accounts/open.ts";
import type { Config } from "../config.ts";
import { openExecutorClient } from "../executor/client.ts";
import { limitLogs } from "../flow/log-limit.ts";
import { buildApp } from "../http/app.ts";
import { divideEventLimits } from "../http/limits.ts";
import { connectionsWaitingMax, prepareDrain } from "../http/load/connections.ts";
import { readLabels } from "../http/pages/labels.ts";
import type { RoleParts } from "./parts.ts";

/**
 * Opens the HTTP server. `listen` then starts to accept connections. `stop` drains the server, and
 * works even if `listen` has failed.
 *
 * @param draining a signal that aborts when the process begins to drain
 */
export async function openApi(config: Config, parts: RoleParts, draining: AbortSignal) {
  const labels = readLabels(config.labelsFile);
  const { log, metrics, factory, keccak, store, chains, statusReader, chainLoop } = parts;
  const accounts = await countedAccounts(config, parts);
  const app = buildApp({
    store,
    accounts,
    chains,
    statusReader,
    chainLoop,
    executorClient: openExecutorClient(store, log, config.executorReportedTokensPerDay),
    factory,
    keccak,
    publicUrl: config.publicUrl,
    webhookTargets: config.webhookTargets,
    labels,
    docsUrl: config.docsUrl,
    securityContact: config.securityContact,
    trustedProxies: config.trustedProxies,
    limits: config.limits,
    eventLimits: divideEventLimits(config),
    metrics,
    log,
    now: Date.now,
    draining,
  });
  const drain = prepareDrain(app, log);
  return {
    async listen() {
      await app.listen({ host: config.host, port: config.port, backlog: connectionsWaitingMax });
      const { address, port } = app.server.address() as AddressInfo;
      log.info({ address, port, publicUrl: config.publicUrl }, "listening");
    },
    async stop() {
      await drain(config.drainSeconds);
      await accounts.close();
    },
  };
}

function countedAccounts(config: Config, { store, metrics, log }: RoleParts): Promise<Accounts> {
  const logLimited = limitLogs();
  return openAccounts(store, config, {
    onLimiterFault(err) {
      metrics.limiterFaults.inc();
      const text = "the shared rate limiter does not respond; this server applies its own limits";
      logLimited("limiter", (leftOut) => log.error({ err, leftOut }, text));
    },
    onUsageFault(err) {
      const text = "saving the usage failed; it will be retried";
      logLimited("usage", (leftOut) => log.error({ err, leftOut }, text));
    },
  });
}
