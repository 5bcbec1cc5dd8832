// Sends transactions to the relays that the operator configured (`sendUrls`).

import type { Endpoint } from "./endpoint.ts";
import { ask, type NetworkEvent, openRecord, takeWilling } from "./endpoint-record.ts";
import type { Answer, Call } from "./json-rpc.ts";
import type { NetworkTime } from "./network.ts";

/**
 * The answers of the relay that is named `rpc`. `answers` is undefined if the relay failed. It is
 * also undefined if another relay accepted the transaction before this relay answered.
 */
export type RelayAnswer = { rpc: string; answers: Answer[] | undefined };

export type Relays = { count: number; send(calls: Call[]): Promise<RelayAnswer[]> };

/**
 * Opens relays. A transaction is sent to all relays simultaneously. One acceptance is sufficient,
 * so a silent relay causes no delay. A relay that keeps failing is skipped for a growing number of
 * transactions. A relay is also skipped while its provider demands a pause. Such a pause is not a
 * failure.
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
      const endpoints = takeWilling(state).filter(({ endpoint }) => !endpoint.isPaused?.(calls));
      const found = endpoints.map(
        ({ endpoint }): RelayAnswer => ({ rpc: endpoint.name, answers: undefined }),
      );
      const accepted = Promise.withResolvers<void>();
      const asked = endpoints.map(async (record, place) => {
        const list = await ask(state, record, calls);
        found[place]!.answers = list;
        if (list?.some((answer) => "result" in answer)) accepted.resolve();
      });
      await Promise.race([accepted.promise, Promise.allSettled(asked)]);
      return found.map((each) => ({ ...each }));
    },
  };
}
