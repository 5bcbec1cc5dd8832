// Opens the parts that both roles (`api` and `executor`) need.

import type { Hex, Keccak } from "executable-address";
import { factoryCodeHash } from "executable-address-contracts";
import type { Logger } from "pino";
import { readChains } from "../chain/chains.ts";
import { type Chains, openChains, perChain } from "../chain/registry.ts";
import { openStatusReader, type StatusReader } from "../chain/status/reader.ts";
import type { Config } from "../config.ts";
import { type ChainLoop, openChainLoop } from "../follow/loop.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { ownFactory, requireOwnRecords } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import { openStore } from "./open-store.ts";

export type RoleParts = {
  log: Logger;
  /**
   * Functions that close the parts of the service. These functions run in reverse order, so that a
   * part is closed after the parts that use it.
   */
  stops: (() => unknown)[];
  metrics: Metrics;
  factory: Hex;
  keccak: Keccak;
  store: Store;
  chains: Chains;
  /** Returns this process's status reader for a chain. The first call for a chain opens it. */
  statusReader: (chainId: number) => StatusReader;
  chainLoop: (chainId: number) => ChainLoop;
};

/**
 * @param stops a list; when a part is open, its close function is added immediately
 * @throws if the database or the chains cannot be opened
 */
export async function openParts(
  config: Config,
  log: Logger,
  stops: RoleParts["stops"],
): Promise<RoleParts> {
  const store = await openStore(config);
  stops.push(() => store.close());
  await requireOwnRecords(store);
  const { factory } = ownFactory;
  const code = { address: factory, codeHash: factoryCodeHash };
  const chains = await openChains(readChains(config.chainsFile), code, log);
  stops.push(() => chains.close());
  const statusReader = perChain({ chains, factory }, openStatusReader);
  const chainLoop = perChain({ chains, factory }, ({ rpc }) =>
    openChainLoop(rpc.heads, config.executorPollMs),
  );
  const metrics = createMetrics();
  return { log, stops, metrics, ...ownFactory, store, chains, statusReader, chainLoop };
}
