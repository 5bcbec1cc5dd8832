// GET /dashboard/api/addresses: what this account created, newest first, with its last observed
// state.

import { decodeTerms, formatAddress, InvalidError } from "executable-address";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { listAddresses } from "../../events/list-addresses.ts";
import { CorruptError } from "../../store/store.ts";
import { integerInput, parseInput, timeInput, toIso, toIsoOrNull } from "../input/schema.ts";
import { formatCursor, parseCursor, stateInput } from "../lists/filters.ts";
import type { Parts } from "../parts.ts";
import { accountIdOf } from "./session.ts";

const listInput = z.strictObject({
  cursor: z.string().max(100).optional(),
  limit: integerInput(1, 100).default(20),
  /** One, or the beginning of some, in any letter case. */
  address: z.string().max(100).optional(),
  token: z.string().max(100).optional(),
  /** Exactly this one. */
  reference: z.string().max(300).optional(),
  /** As last seen; an address without money is `expired` from its expiry by this clock. */
  state: stateInput.optional(),
  createdFrom: timeInput.optional(),
  createdUntil: timeInput.optional(),
});

export function mountAddresses(
  app: FastifyInstance,
  { store, keccak, now }: Pick<Parts, "store" | "keccak" | "now">,
): void {
  app.get("/addresses", async (request) => {
    const { cursor, address, token, ...asked } = parseInput(listInput, request.query);
    const { items, next } = await listAddresses(store.db, {
      ...asked,
      accountId: accountIdOf(request),
      order: "newest",
      nowMs: now(),
      isGone: () => request.raw.socket.destroyed,
      cursor: cursor === undefined ? undefined : parseCursor(cursor),
      addresses: address ? addressRange(address) : undefined,
      token: token ? wholeAddress(token) : undefined,
    });
    return {
      items: await Promise.all(
        items.map(async ({ address, reference, createdAtMs, state, settledAtMs, ...seen }) => ({
          address: formatAddress(address, keccak),
          reference,
          createdAt: toIso(createdAtMs),
          intent: await intentOf(address),
          seen: {
            block: seen.block,
            transactionHash: seen.transactionHash,
            state,
            settledAt: toIsoOrNull(settledAtMs),
          },
        })),
      ),
      next: next ? formatCursor(next) : null,
    };
  });

  async function intentOf(address: Buffer) {
    const terms = await store.findTerms(address);
    if (!terms) throw new CorruptError("an address of the account has no record");
    return decodeTerms(terms, { keccak });
  }
}

/** The lowest and the highest address that begin with `text`. */
function addressRange(text: string): { from: Buffer; to: Buffer } {
  const digits = /^0x([0-9a-f]{0,40})$/i.exec(text)?.[1];
  if (digits === undefined) throw invalid("address", "expected 0x and up to 40 hex digits");
  return {
    from: Buffer.from(digits.padEnd(40, "0"), "hex"),
    to: Buffer.from(digits.padEnd(40, "f"), "hex"),
  };
}

function wholeAddress(text: string): Buffer {
  const digits = /^0x([0-9a-f]{40})$/i.exec(text)?.[1];
  if (digits === undefined) throw invalid("token", "expected 0x and 40 hex digits");
  return Buffer.from(digits, "hex");
}

const invalid = (field: string, message: string) =>
  new InvalidError([{ path: [field], code: "malformed", message }]);
