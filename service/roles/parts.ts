// Opens the parts that both roles (`api` and `executor`) need.

import { factoryAddress, type Keccak } from "executable-address";
import { factoryCodeHash } from "executable-address-contracts";
import type { Logger } from "pino";
import { readChains } from "../chain/chains.ts";
import { type Chains, openChains, perChain } from "../chain/registry.ts";
import { openStatusReader, type StatusReader } from "../chain/status/reader.ts";
import type { Config } from "../config.ts";
import { type ChainLoop, openChainLoop } from "../follow/loop.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { keccak, requireOwnRecords } from "../store/record.ts";
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
  await requireOwnRecords(store, { factory: factoryAddress, keccak });
  const factory = { address: factoryAddress, codeHash: factoryCodeHash };
  const chains = await openChains(readChains(config.chainsFile), factory, log);
  stops.push(() => chains.close());
  const statusReader = perChain({ chains, factory: factoryAddress }, openStatusReader);
  const chainLoop = perChain({ chains, factory: factoryAddress }, ({ rpc }) =>
    openChainLoop(rpc.heads, config.executorPollMs),
  );
  const metrics = createMetrics();
  return { log, stops, metrics, keccak, store, chains, statusReader, chainLoop };
}
