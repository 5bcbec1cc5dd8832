// Runs the service with a separate chain, for tests of status and events.

import { type AddressRecord, fromHex } from "executable-address";
import { parseChains } from "../chain/chains.ts";
import type { Chains } from "../chain/registry.ts";
import { openStatusReader } from "../chain/status/reader.ts";
import { type ObservedChain, openObservedChain } from "../events/observe.ts";
import { openChainLoop } from "../follow/loop.ts";
import { chainsOf, startApp, type TestApp } from "./app.ts";
import { startWorld, type World } from "./chain/world.ts";

/**
 * Starts a chain and a service that lists it, and returns a function that requests a path under
 * /v1/address/.
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

/** Lists the world's chain with the endpoint `rpcUrl`, by default the world's own. */
export function chainsAt({ token, chain, rpcUrl: itsOwn }: World, rpcUrl = itsOwn): Chains {
  const { chainId } = chain;
  const tokens = [{ symbol: "DMO", address: token, decimals: 6 }];
  const known = parseChains([{ chainId, name: "Local", rpcUrls: [rpcUrl], tokens }], "the test");
  return chainsOf(known);
}

/** Returns the world's chain for the observer. The observer always reads it at the newest block. */
export function observedChainOf(world: World): ObservedChain {
  const { chainId, rpc } = world.chain;
  const reader = openStatusReader(world.chain);
  const loop = openChainLoop(rpc.heads, 0);
  const chains = { rpcOf: () => rpc };
  return openObservedChain({ chains, statusReader: () => reader, chainLoop: () => loop }, chainId);
}

/** Saves a record in the same way as a create request. */
export async function keepRecord({ parts }: TestApp, record: AddressRecord) {
  await parts.store.saveRecord({
    address: fromHex(record.address),
    terms: fromHex(record.terms),
    accountId: "acc_0123456789abcdef01234567",
    createdAtMs: Date.now(),
  });
  return record;
}
