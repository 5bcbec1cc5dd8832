// Sends transactions to the operator's relays, which receive them instead of the endpoints.

import type { Endpoint } from "./endpoint.ts";
import { ask, type NetworkEvent, openRecord, willing } from "./endpoint-record.ts";
import type { Answer, Call } from "./json-rpc.ts";
import type { NetworkTime } from "./network.ts";

/**
 * The answers of the relay that is named `rpc`. `answers` is undefined if the relay failed, or had
 * not answered yet when another relay accepted the transaction.
 */
export type RelayAnswer = { rpc: string; answers: Answer[] | undefined };

export type Relays = { count: number; send(calls: Call[]): Promise<RelayAnswer[]> };

/**
 * Opens relays. A transaction is sent to all relays simultaneously, and one acceptance is
 * sufficient, so a relay that does not respond causes no delay. A relay that keeps failing is
 * skipped for a growing number of transactions. A relay whose provider demands a pause is skipped
 * until the end of the pause, which does not count as a failure.
 */
export function openRelays(
  chainId: number,
  endpoints: readonly Endpoint[],
  report: (event: NetworkEvent) => void,
  time: NetworkTime,
): Relays {
  const state = { chainId, all: endpoints.map(openRecord), report, ...time };
  return {
    count: endpoints.length,
    async send(calls) {
      const endpoints = willing(state).filter(({ endpoint }) => !endpoint.isPaused?.(calls));
      const found = endpoints.map(
        ({ endpoint }): RelayAnswer => ({ rpc: endpoint.name, answers: undefined }),
      );
      const takes = endpoints.map(async (record, place) => {
        const list = await ask(state, record, calls);
        found[place]!.answers = list;
        if (!list?.some((answer) => "result" in answer)) throw new Error("not taken");
      });
      // This promise rejects if no relay accepts the transaction, but `found` contains the answers.
      await Promise.any(takes).catch(() => {});
      return found.map((each) => ({ ...each }));
    },
  };
}
