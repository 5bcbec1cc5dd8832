import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openEndpoint, type Response } from "./endpoint.ts";
import type { NetworkEvent } from "./endpoint-record.ts";
import { openRelays } from "./network.ts";
import { openPace } from "./pace.ts";

const sendCall = { method: "eth_sendRawTransaction", params: ["0x"] };
const accepted: Response = { status: 200, retryAfter: "", date: "", body: { id: 0, result: "0x" } };
const limited: Response = { status: 429, retryAfter: "86400", date: "", body: undefined };

/**
 * Opens one relay for each response in `first`, with a simulated clock. A relay's first response is
 * its entry in `first`. All later responses accept the transaction.
 */
function openSimulated(first: readonly Response[]) {
  const clock = { ms: 0 };
  const now = () => clock.ms;
  const sleep = async (ms: number) => {
    clock.ms += ms;
  };
  const requestsAt: number[][] = first.map(() => []);
  const endpoints = first.map((response, place) => {
    const transport = async () => (requestsAt[place]!.push(now()) === 1 ? response : accepted);
    const provider = { name: `relay ${place}`, transport, pace: openPace(now) };
    return openEndpoint(provider, { now, sleep }, { timeoutMs: 4_000 });
  });
  const events: NetworkEvent[] = [];
  const relays = openRelays(1, endpoints, (event) => events.push(event), { clock: now, sleep });
  return { clock, events, relays, requestsAt };
}

describe("a relay that answers 429 with `Retry-After: 86400`", () => {
  const cases: Record<string, Response[]> = {
    "no other relay": [],
    "another relay that works": [accepted],
    "another relay that is limited too": [limited],
  };
  for (const [others, first] of Object.entries(cases))
    for (const everySeconds of [5, 15, 60])
      test(`is retried after 60 s (${others}; a transaction every ${everySeconds} s)`, async () => {
        const { clock, events, relays, requestsAt } = openSimulated([limited, ...first]);
        while (clock.ms <= 60_000) {
          await relays.send([sendCall]);
          clock.ms += everySeconds * 1_000;
        }
        assert.deepEqual(requestsAt[0], [0, 60_000]);
        const message = "relay 0 allows no more calls for 60000 ms";
        assert.deepEqual(events[0], { kind: "rpc_failed", rpc: "relay 0", message });
        assert.equal(events.length, first.includes(limited) ? 2 : 1);
      });
});
