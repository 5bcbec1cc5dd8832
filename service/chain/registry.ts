// Decides which chains are listed. New addresses can be created only for listed chains. A
// configured chain is listed if it matches the chains file.
//
// A chain remains listed while its endpoints do not answer. Addresses can be derived without the
// chain. The registry calls the endpoints every minute until one answers.

import type { Hex } from "executable-address";
import type { Logger } from "pino";
import { hourMs } from "../flow/days.ts";
import { sleepUnref } from "../flow/wait.ts";
import type { Chain } from "./chains.ts";
import { checkChain, type Factory, type Verdict } from "./check.ts";
import { type ChainRpc, openChainRpc } from "./rpc/chain-rpc.ts";
import { ChainUnavailable } from "./rpc/json-rpc.ts";
import type { ChainAccess } from "./status/past.ts";

export type Chains = {
  /** All chains of the file, in file order, whether or not they are listed. */
  known: readonly Chain[];
  /** The chains for which addresses can be created now. */
  listed(): readonly Chain[];
  /** Returns a configured chain even if it is not listed. Addresses may exist on the chain. */
  find(chainId: number): Chain | undefined;
  isListed(chainId: number): boolean;
  /** @throws if the chain is not configured */
  rpcOf(chainId: number): ChainRpc;
  /** Stops all calls. */
  close(): void;
};

/**
 * Returns a function that maps a chain ID to the result of `open`. Calls `open` once per chain,
 * when the chain is first needed.
 *
 * @throws {ChainUnavailable} if the chain is not configured. An operator may have removed a chain
 *   from the file after addresses were created on it
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

/**
 * The delay before the next check of a chain, for each result of the last check. A chain can stop
 * matching the chains file, for example if an upgrade changes a token's decimals.
 */
const recheckMs = { right: hourMs, wrong: 60_000, unknown: 60_000 };

/**
 * Checks the chains. Resolves after each chain has been checked once, or after `waitMs`.
 * @param waitMs the maximum delay of the startup
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
    if (!rpc) throw new Error(`chain ${chainId} is not in the chains file`);
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
  await Promise.race([first, sleepUnref(waitMs)]);

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
    log.info({ chainId, name }, "chain listed: the chain matches the chains file");
  } else if (verdict.kind === "wrong") {
    log.error(
      { chainId, name, faults: verdict.faults },
      "chain NOT LISTED: the chain does not match the chains file",
    );
  } else {
    log.warn(
      { chainId, name, reason: verdict.reason },
      "chain not checked, because no RPC endpoint responds; will retry",
    );
  }
}
