// A network of endpoints with prepared answers, for tests of functions that read several nodes.

import type { Endpoint } from "../../chain/rpc/endpoint.ts";
import type { NetworkEvent } from "../../chain/rpc/endpoint-record.ts";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { type Network, openNetwork } from "../../chain/rpc/network.ts";
import { sleepUnref } from "../../flow/wait.ts";

const hash = (byte: string) => `0x${byte.repeat(32)}`;

/** The newest block of all endpoints: block 5 of chain 1. */
const block = {
  ...{ number: "0x5", hash: hash("05"), parentHash: hash("04"), timestamp: "0x64" },
  gasLimit: "0x1c9c380",
};

type Options = { report?: (event: NetworkEvent) => void; clock?: () => number };

/**
 * Opens the endpoints `rpc0`, `rpc1`, and so on. Each endpoint reports chain 1 and the same block.
 *
 * @param answer returns the answer of the endpoint at `place` to any other call
 */
export function openCannedNetwork(
  count: number,
  answer: (place: number, call: Call) => Answer,
  { report = () => {}, clock = () => 0 }: Options = {},
): Network {
  const answerAt = (place: number, call: Call): Answer => {
    if (call.method === "eth_chainId") return { result: "0x1" };
    return call.method === "eth_getBlockByNumber" ? { result: block } : answer(place, call);
  };
  const endpoints = Array.from(
    { length: count },
    (_, place): Endpoint => ({
      name: `rpc${place}`,
      ask: async (calls) => calls.map((call) => answerAt(place, call)),
    }),
  );
  return openNetwork(1, endpoints, report, { clock, sleep: sleepUnref });
}
