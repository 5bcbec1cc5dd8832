// Keeps which of the known chains are listed: all but those that were found to contradict the file.
//
// A chain whose RPC does not answer stays listed: an address is computed without the chain, so an
// RPC that is down must not stop creates. It is asked again until it answers.

import type { Hex } from "executable-address";
import type { Logger } from "pino";
import { hourMs } from "../flow/days.ts";
import type { Chain } from "./chains.ts";
import { checkChain, type Factory, type Verdict } from "./check.ts";
import { type ChainRpc, openChainRpc } from "./rpc/chain-rpc.ts";
import { ChainUnavailable } from "./rpc/json-rpc.ts";
import type { ChainAccess } from "./status/past.ts";

export type Chains = {
  /** Every chain of the file, in its order, listed or not. */
  known: readonly Chain[];
  /** The chains on which addresses can be created now. */
  listed(): readonly Chain[];
  /** A known chain, listed or not: an address outlives its chain's listing. */
  find(chainId: number): Chain | undefined;
  isListed(chainId: number): boolean;
  /** How a known chain is asked. Throws for an unknown one. */
  rpcOf(chainId: number): ChainRpc;
  /** Stops asking. */
  close(): void;
};

/**
 * Returns what `open` makes for a chain, opened at the first call and kept.
 *
 * @throws {ChainUnavailable} if the chain is not configured: its addresses remain, but it may have
 *   been removed from the file
 */
export function perChain<Opened>(
  { chains, factory }: { chains: Pick<Chains, "find" | "rpcOf">; factory: Hex },
  open: (chain: ChainAccess & Pick<Chain, "tokens">) => Opened,
): (chainId: number) => Opened {
  const opened = new Map<number, Opened>();
  return (chainId) => {
    const known = opened.get(chainId);
    if (known) return known;
    const chain = chains.find(chainId);
    if (!chain) throw new ChainUnavailable(`chain ${chainId} is not configured`);
    const fresh = open({ chainId, factory, rpc: chains.rpcOf(chainId), tokens: chain.tokens });
    opened.set(chainId, fresh);
    return fresh;
  };
}

/** Chains that are right are asked again too: a token may be upgraded to other decimals. */
const recheckMs = { right: hourMs, wrong: 60_000, unknown: 60_000 };

/**
 * Resolves when each chain was asked once, or after `waitMs`, whichever is first.
 * @param waitMs how long the start may wait for RPCs
 */
export async function openChains(
  known: Chain[],
  factory: Factory,
  log: Pick<Logger, "info" | "warn" | "error">,
  waitMs = 5_000,
): Promise<Chains> {
  const rpcs = new Map(
    known.map((chain) => [chain.chainId, openChainRpc(chain.rpcUrls, undefined, chain)]),
  );
  const unlisted = new Set<number>();
  const timers = new Map<number, NodeJS.Timeout>();
  let isClosed = false;

  const rpcOf = (chainId: number): ChainRpc => {
    const rpc = rpcs.get(chainId);
    if (!rpc) throw new Error(`chain ${chainId} is not known`);
    return rpc;
  };

  const check = async (chain: Chain) => {
    const verdict = await checkChain(chain, rpcOf(chain.chainId), factory);
    if (verdict.kind === "wrong") unlisted.add(chain.chainId);
    if (verdict.kind === "right") unlisted.delete(chain.chainId);
    report(chain, verdict, log);
    if (isClosed) return;
    const timer = setTimeout(check, recheckMs[verdict.kind], chain);
    timers.set(chain.chainId, timer.unref());
  };

  const first = Promise.all(known.map(check));
  await Promise.race([first, new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);

  const isListed = (chainId: number) => rpcs.has(chainId) && !unlisted.has(chainId);
  return {
    known,
    listed: () => known.filter(({ chainId }) => isListed(chainId)),
    find: (chainId) => known.find((chain) => chain.chainId === chainId),
    isListed,
    rpcOf,
    close() {
      isClosed = true;
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

function report(
  { chainId, name }: Chain,
  verdict: Verdict,
  log: Pick<Logger, "info" | "warn" | "error">,
): void {
  if (verdict.kind === "right") {
    log.info({ chainId, name }, "chain checked and listed");
  } else if (verdict.kind === "wrong") {
    log.error(
      { chainId, name, faults: verdict.faults },
      "chain NOT LISTED: it contradicts the file",
    );
  } else {
    log.warn(
      { chainId, name, reason: verdict.reason },
      "chain unchecked: no RPC answers; will ask again",
    );
  }
}
