// Asks the server to simulate the execution. Repeats the request after each change of the status.
// Pages name the server as the source, because a simulation cannot be proven.

import type { AddressRecord, Hex } from "executable-address";
import type { ServiceStatus } from "executable-address/status";
import {
  coinDecimals,
  type FoundSimulation,
  findSimulation,
  formatUnits,
  isSame,
  type Token,
} from "executable-address-element/page";
import { useEffect, useRef, useState } from "react";
import { askUntilCaughtUp } from "./caught-up.ts";
import { type Labels, sayParty } from "./reading.ts";
import type { Say } from "./words/languages.ts";

export type Simulated = { kind: "loading" } | FoundSimulation;

/**
 * Requests the first simulation together with the first status, because the QR code waits for both.
 * Keeps the last simulation until the next one arrives. `again` requests another simulation
 * immediately.
 */
export function useSimulation(address: Hex, status: ServiceStatus | undefined) {
  const [simulated, setSimulated] = useState<Simulated>({ kind: "loading" });
  const [attempt, setAttempt] = useState(0);
  const state = status && `${status.state} ${status.balance}`;
  // `from` is the block in which the status last changed. If a later block has the same status, no
  // new request is needed.
  const known = useRef({ state, from: 0, changes: 0 });
  if (known.current.state !== state) {
    const from = status?.block.number ?? 0;
    const isFirst = known.current.state === undefined;
    const isNoNews = isFirst && (simulated.kind === "loading" || isOf(simulated, from));
    known.current = { state, from, changes: known.current.changes + (isNoNews ? 0 : 1) };
  }
  const { changes } = known.current;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change or attempt needs a request
  useEffect(() => {
    const stopping = new AbortController();
    const isBehind = (found: FoundSimulation) =>
      found.kind === "done" && !isOf(found, known.current.from);
    const ask = async () => {
      const find = async () => {
        const next = await findSimulation("/v1", address, stopping.signal);
        // Until a current simulation arrives, a slightly outdated one is better than none.
        if (!stopping.signal.aborted)
          setSimulated((last) => (last.kind === "loading" ? next : last));
        return next;
      };
      const found = await askUntilCaughtUp(find, isBehind, stopping.signal);
      if (!stopping.signal.aborted) setSimulated(found);
    };
    void ask();
    return () => stopping.abort();
  }, [address, changes, attempt]);
  return { simulated, again: () => setAttempt(attempt + 1) };
}

/** Returns whether the simulation used `block` or a later block. */
const isOf = (simulated: Simulated, block: number): boolean =>
  simulated.kind === "done" && simulated.simulation.block.number >= block;

/** In token fields, the zero address means the native coin. */
export const nativeCoin: Hex = `0x${"0".repeat(40)}`;

/** Returns text such as "+25 USDC". The sign shows the direction of the change. */
export function sayChange(
  change: string,
  address: Hex,
  token: Token | undefined,
  say: Say,
): string {
  const sign = change.startsWith("-") ? "−" : "+";
  return sign + sayUnits(change.replace("-", ""), address, token, say);
}

/** Returns "25 USDC". For an unlisted token, returns base units, which cannot mislead. */
export function sayUnits(units: string, address: Hex, token: Token | undefined, say: Say): string {
  if (token) return `${formatUnits(units, token.decimals)} ${token.symbol}`;
  if (address === nativeCoin) return `${formatUnits(units, coinDecimals)} ${say("nativeCoin")}`;
  return say("baseUnits", { amount: formatUnits(units, 0) });
}

/** Returns the name of an account, from the verified record and the operator's labels. */
export function sayAccount(
  account: Hex,
  record: AddressRecord,
  labels: Labels,
  say: Say,
): string | undefined {
  const at = record.intent.calls.findIndex(({ target }) => isSame(target, account));
  const call = at < 0 ? undefined : say("partyCall", { n: at + 1 });
  const recovery = isSame(account, record.intent.recovery) ? say("partyRecovery") : undefined;
  return sayParty(account, record, labels, say) ?? recovery ?? call;
}
