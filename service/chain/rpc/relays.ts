// Relays, which transactions are sent to in place of a chain's endpoints. All are told at once, and
// the first that takes one is enough: a relay that says nothing delays no other transaction.

import type { Endpoint } from "./endpoint.ts";
import { ask, type NetworkEvent, openRecord, willing } from "./endpoint-record.ts";
import type { Answer, Call } from "./json-rpc.ts";

/** `rpc`: its name. `answers`: undefined where it failed, or another took the transaction first. */
export type RelayAnswer = { rpc: string; answers: Answer[] | undefined };

export type Relays = { count: number; tell(calls: Call[]): Promise<RelayAnswer[]> };

/** One that failed is not asked for some transactions, more with each failure. */
export function openRelays(
  chainId: number,
  endpoints: readonly Endpoint[],
  report: (event: NetworkEvent) => void,
  clock: () => number,
): Relays {
  const state = { chainId, all: endpoints.map(openRecord), report, clock };
  return {
    count: endpoints.length,
    async tell(calls) {
      const asked = willing(state);
      const told = asked.map(
        ({ endpoint }): RelayAnswer => ({ rpc: endpoint.name, answers: undefined }),
      );
      const takes = asked.map(async (record, place) => {
        const answers = await ask(state, record, calls);
        told[place]!.answers = answers;
        if (!answers?.some((answer) => "result" in answer)) throw new Error("not taken");
      });
      // Rejects once none has taken it; what each said stands in `told`.
      await Promise.any(takes).catch(() => {});
      return told.map((each) => ({ ...each }));
    },
  };
}
