// Opens what both roles work with.

import { factoryAddress, type Keccak } from "executable-address";
import { factoryCodeHash } from "executable-address-contracts";
import type { Logger } from "pino";
import { readChains } from "../chain/chains.ts";
import { type Chains, openChains } from "../chain/registry.ts";
import type { Config } from "../config.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { keccak } from "../store/keccak.ts";
import { requireOwnRecords } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import { openStore } from "./open-store.ts";

export type RoleParts = {
  log: Logger;
  /** Each ends a part. The last is called first: nothing is closed before those who use it. */
  stops: (() => unknown)[];
  metrics: Metrics;
  keccak: Keccak;
  store: Store;
  chains: Chains;
};

/**
 * @param stops receives what ends each part, also where a later one fails
 * @throws where what the configuration names cannot be opened
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
  return { log, stops, metrics: createMetrics(), keccak, store, chains };
}
