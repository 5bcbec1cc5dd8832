// The observer of a running program: its passes run in the turns of each chain's loop.

import { toHex } from "executable-address";
import type { Logger } from "pino";
import type { Chains } from "../chain/registry.ts";
import { findBlockAt } from "../chain/rpc/heads.ts";
import type { StatusReader } from "../chain/status/reader.ts";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import type { ChainLoop } from "../follow/loop.ts";
import type { Store } from "../store/store.ts";
import { pruneEvents } from "./list.ts";
import { type ObservedChain, type ObserveParts, observe } from "./observe.ts";

/** The delay after a failed pass, for example while the chain or the store does not respond. */
const faultMs = 5_000;
const pruneMs = 60_000;

type ChainParts = {
  chains: Pick<Chains, "known" | "rpcOf">;
  statusReader: (chainId: number) => StatusReader;
  chainLoop: (chainId: number) => ChainLoop;
};

type ObserverParts = Omit<ObserveParts, "store" | "onFault"> &
  ChainParts & { store: Pick<Store, "db">; log: Logger };

/** Returns how to stop the observer; stopping resolves after pending passes have ended. */
export function startObserver(parts: ObserverParts): { stop(): Promise<void> } {
  const ends = parts.chains.known.map((chain) =>
    parts.chainLoop(chain.chainId).subscribe(openPasses(parts, chain)),
  );
  return {
    async stop() {
      await Promise.all(ends.map((end) => end()));
    },
  };
}

type KnownChain = ObserverParts["chains"]["known"][number];

/**
 * Returns a function that runs one pass. It never rejects, and does nothing for a while after a
 * failure.
 */
function openPasses(parts: ObserverParts, { chainId, confirmations }: KnownChain) {
  const { store, now } = parts;
  const log = parts.log.child({ chainId });
  const observed = openObservedChain(parts, chainId);
  const logLimited = limitLogs();
  const onFault = (address: string, err: unknown) =>
    logLimited(`address ${messageKind(String(err))}`, (leftOut) => {
      const text = "an address could not be observed; it will be tried again";
      log.warn({ err, address, leftOut }, text);
    });
  let isDefaultKept = false;
  let prunedAtMs = 0;
  let failedAtMs = Number.NEGATIVE_INFINITY;

  return async (): Promise<void> => {
    if (performance.now() - failedAtMs < faultMs) return;
    try {
      if (!isDefaultKept) await keepDefault(store, chainId, confirmations);
      isDefaultKept = true;
      const events = await observe({ ...parts, onFault }, observed);
      for (const { type, address } of events) log.info({ type, address: toHex(address) }, "event");
      if (now() - prunedAtMs > pruneMs) {
        await pruneEvents(store.db, now());
        prunedAtMs = now();
      }
    } catch (err) {
      failedAtMs = performance.now();
      logLimited(`pass ${messageKind(String(err))}`, (leftOut) =>
        log.warn({ err, leftOut }, "addresses were not observed; they will be"),
      );
    }
  };
}

export function openObservedChain(
  {
    chains,
    statusReader,
    chainLoop,
  }: Omit<ChainParts, "chains"> & {
    chains: Pick<Chains, "rpcOf">;
  },
  chainId: number,
): ObservedChain {
  const rpc = chains.rpcOf(chainId);
  return {
    chainId,
    head: () => chainLoop(chainId).readHead(),
    blockAt: (number) => findBlockAt(rpc, number),
    readAt: (subject, block) => statusReader(chainId).readAt(subject, block),
  };
}

/** Saves the depth that mark.ts uses for accounts that have not chosen one. */
async function keepDefault({ db }: Pick<Store, "db">, chainId: number, confirmations: number) {
  await db
    .insertInto("event_chains")
    .values({ chain_id: chainId, confirmations })
    .onConflict((conflict) => conflict.column("chain_id").doUpdateSet({ confirmations }))
    .execute();
}
