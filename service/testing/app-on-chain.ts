// Runs the service with a new local chain, for tests of statuses and events.

import { type AddressRecord, fromHex } from "executable-address";
import { parseChains } from "../chain/chains.ts";
import type { Chains } from "../chain/registry.ts";
import { openStatusReader } from "../chain/status/reader.ts";
import { type ObservedChain, openObservedChain } from "../events/observe.ts";
import { openChainLoop } from "../follow/loop.ts";
import { chainsOf, startApp, type TestApp } from "./app.ts";
import { startWorld, type World } from "./chain/world.ts";

/**
 * Starts a chain and a service that lists it. `get` sends a request to a path below /v1/address/.
 */
export async function serveWorld() {
  const world = await startWorld();
  const server = await startApp({ chains: chainsAt(world) });
  return {
    world,
    server,
    get: (path: string, from = server) =>
      from.app.inject({ method: "GET", url: `/v1/address/${path}` }),
    async stop() {
      await server.close();
      await world.stop();
    },
  };
}

/** Returns the test's chain as the only chain of a service, with the endpoint `rpcUrl`. */
export function chainsAt({ token, chain, rpcUrl: itsOwn }: World, rpcUrl = itsOwn): Chains {
  const { chainId } = chain;
  const tokens = [{ symbol: "DMO", address: token, decimals: 6 }];
  const known = parseChains([{ chainId, name: "Local", rpcUrls: [rpcUrl], tokens }], "the test");
  return chainsOf(known);
}

/**
 * Returns the test's chain in the type that the observer needs. The loop's poll interval is 0, so
 * each read requests the newest block.
 */
export function observedChainOf(world: World): ObservedChain {
  const { chainId, rpc } = world.chain;
  const reader = openStatusReader(world.chain);
  const loop = openChainLoop(rpc.heads, 0);
  const chains = { rpcOf: () => rpc };
  return openObservedChain({ chains, statusReader: () => reader, chainLoop: () => loop }, chainId);
}

/** Saves a record as a create request would. */
export async function keepRecord({ parts }: TestApp, record: AddressRecord) {
  await parts.store.saveRecord({
    address: fromHex(record.address),
    terms: fromHex(record.terms),
    accountId: "acc_0123456789abcdef01234567",
    createdAtMs: Date.now(),
  });
  return record;
}
