// Searches of an account read one window at a time, so that others wait for one of them alone, be
// there ever so many. A search ends once its client has left.

import type { FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { openGate, type Turn } from "../../flow/gate.ts";

/** By account. One that is forgotten while in use lets the next search read beside it. */
const gates = new LRUCache({ max: 10_000, memoMethod: (_accountId: string) => openGate(1) });

export const turnOf =
  ({ raw }: FastifyRequest, accountId: string): Turn =>
  (read) =>
    gates.memo(accountId)(async () => (raw.socket.destroyed ? undefined : read()));
