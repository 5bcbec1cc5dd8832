// The observer as a running program has it: one loop per chain, beside the executor.

import { setTimeout as sleep } from "node:timers/promises";
import { toHex } from "executable-address";
import type { Logger } from "pino";
import type { Chains } from "../chain/registry.ts";
import { findBlockAt } from "../chain/rpc/heads.ts";
import { newPastCache } from "../chain/status/past.ts";
import { readStatuses } from "../chain/status/status.ts";
import { messageKind, seldom } from "../flow/seldom.ts";
import type { Store } from "../store/store.ts";
import { pruneEvents } from "./list.ts";
import { type ObservedChain, type ObserveParts, observe } from "./observe.ts";

const faultMs = 5_000;
const pruneMs = 60_000;

type ObserverParts = Omit<ObserveParts, "store" | "onFault"> & {
  store: Pick<Store, "db">;
  chains: Pick<Chains, "known" | "rpcOf">;
  pollMs: number;
  log: Logger;
};

/** @returns how to stop: resolves when the passes under way have ended */
export function startObserver(parts: ObserverParts): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const loops = parts.chains.known.map((chain) => run(parts, chain, signal));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

type Known = ObserverParts["chains"]["known"][number];

async function run(parts: ObserverParts, chain: Known, signal: AbortSignal): Promise<void> {
  const { chainId, confirmations } = chain;
  const log = parts.log.child({ chainId });
  const observed = openChain(parts, chainId);
  const tell = seldom();
  const onFault = (address: string, err: unknown) =>
    tell(`address ${messageKind(String(err))}`, (leftOut) => {
      const text = "an address could not be observed; it will be tried again";
      log.warn({ err, address, leftOut }, text);
    });
  let isDefaultKept = false;
  let prunedAtMs = 0;
  while (!signal.aborted) {
    let waitMs = parts.pollMs;
    try {
      if (!isDefaultKept) await keepDefault(parts.store, chainId, confirmations);
      isDefaultKept = true;
      const events = await observe({ ...parts, onFault }, observed);
      for (const { type, address } of events) log.info({ type, address: toHex(address) }, "event");
      if (parts.now() - prunedAtMs > pruneMs) {
        await pruneEvents(parts.store.db, parts.now());
        prunedAtMs = parts.now();
      }
    } catch (err) {
      tell(`pass ${messageKind(String(err))}`, (leftOut) =>
        log.warn({ err, leftOut }, "addresses were not observed; they will be"),
      );
      waitMs = faultMs;
    }
    await sleep(waitMs, undefined, { signal }).catch(() => {});
  }
}

export function openChain(
  { factory, chains, pollMs }: Pick<ObserverParts, "factory" | "chains" | "pollMs">,
  chainId: number,
): ObservedChain {
  const access = { chainId, factory, rpc: chains.rpcOf(chainId) };
  const cache = newPastCache();
  return {
    chainId,
    head: () => access.rpc.heads.read(pollMs),
    blockAt: (number) => findBlockAt(access.rpc, number),
    read: (block, subjects) => readStatuses(access, cache, block, subjects),
  };
}

/** Keeps the depth that mark.ts counts with where an account has not chosen. */
async function keepDefault({ db }: Pick<Store, "db">, chainId: number, confirmations: number) {
  await db
    .insertInto("event_chains")
    .values({ chain_id: chainId, confirmations })
    .onConflict((conflict) => conflict.column("chain_id").doUpdateSet({ confirmations }))
    .execute();
}
