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

export type RoleParts = {
  log: Logger;
  metrics: Metrics;
  factory: Hex;
  keccak: Keccak;
  store: Store;
  chains: Chains;
  /**
   * Returns this process's status reader for a chain. The first call for a chain opens the reader.
   */
  statusReader: (chainId: number) => StatusReader;
  chainLoop: (chainId: number) => ChainLoop;
};

/** @throws if the database contains another factory's addresses, or the chains cannot be opened */
export async function openParts(store: Store, config: Config, log: Logger): Promise<RoleParts> {
  await requireOwnRecords(store);
  const { factory } = ownFactory;
  const code = { address: factory, codeHash: factoryCodeHash };
  const chains = await openChains(readChains(config.chainsFile), code, log);
  const statusReader = perChain({ chains, factory }, openStatusReader);
  const chainLoop = perChain({ chains, factory }, ({ rpc }) =>
    openChainLoop(rpc.heads, config.executorPollMs),
  );
  const metrics = createMetrics();
  return { log, metrics, ...ownFactory, store, chains, statusReader, chainLoop };
}
