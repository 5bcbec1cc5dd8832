// What became of the address, followed live: server-sent events, or polling where those fail.

import type { Hex } from "executable-address";
import type { AddressState, Recovery, ServiceStatus } from "executable-address/status";
import { useEffect, useState } from "react";

const pollMilliseconds = 5_000;

/** The states and their tone and words. */
export const stateNames: Record<AddressState, ["plain" | "good" | "warn", string]> = {
  unfunded: ["plain", "Waiting for payment"],
  partially_funded: ["warn", "Partly paid"],
  funded: ["good", "Paid, about to run"],
  executed: ["good", "Done: the calls ran"],
  expired: ["warn", "Expired without running"],
  recovered: ["plain", "Expired, money returned"],
};

export type Following = { status: ServiceStatus | undefined; live: boolean };

/** Follows `address` while the page is open; `status` stays undefined while nothing is known. */
export function useStatus(address: Hex): Following {
  const [following, setFollowing] = useState<Following>({ status: undefined, live: false });
  useEffect(() => {
    const stop = follow(address, setFollowing);
    return stop;
  }, [address]);
  return following;
}

/** Undefined for anything this page could not show. The amounts decide what is still to be paid. */
export function readStatus(text: string): ServiceStatus | undefined {
  try {
    const status = JSON.parse(text);
    const isWhole =
      Object.hasOwn(stateNames, status.state) &&
      /^[0-9]{1,78}$/.test(status.balance) &&
      Number.isSafeInteger(status.block.number) &&
      (status.execution === null || typeof status.execution.transactionHash === "string") &&
      status.recoveries.every((one: Recovery) => typeof one.transactionHash === "string");
    return isWhole ? status : undefined;
  } catch {
    return undefined;
  }
}

function follow(address: Hex, tell: (following: Following) => void): () => void {
  const path = `/v1/address/${address}`;
  const stopping = new AbortController();
  let last: ServiceStatus | undefined;
  let timer: ReturnType<typeof setTimeout>;

  const poll = async () => {
    const answer = await fetch(`${path}/status`, { signal: stopping.signal }).catch(
      () => undefined,
    );
    const status = answer?.ok ? readStatus(await answer.text().catch(() => "")) : undefined;
    if (stopping.signal.aborted) return;
    last = status ?? last;
    tell({ status: last, live: status !== undefined });
    // An address the server does not hold has no status, and none will come.
    if (answer?.status !== 404) timer = setTimeout(poll, pollMilliseconds);
  };

  const events = new EventSource(`${path}/events`);
  const read = (event: MessageEvent<string>) => {
    last = readStatus(event.data) ?? last;
    tell({ status: last, live: true });
  };
  events.addEventListener("status", read);
  // The server is there, the chain is not: what was known last stays, marked as old.
  events.addEventListener("unavailable", () => tell({ status: last, live: false }));
  events.addEventListener("error", () => {
    tell({ status: last, live: false });
    // The browser reconnects by itself after a lost connection, but not after a refusal.
    if (events.readyState === EventSource.CLOSED) void poll();
  });
  return () => {
    stopping.abort();
    clearTimeout(timer);
    events.close();
  };
}
